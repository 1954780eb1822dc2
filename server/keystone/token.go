package keystone

import (
	"errors"
	"time"

	"github.com/berthd/berth/server/auth"
)

// token is what Keystone vouches for.
type token struct {
	expires time.Time
	// caller has no Service: who passes a request on is another token's matter.
	caller auth.Caller
	// restricted tokens are good for the requests of the rules only, none if there
	// are none.
	restricted bool
	rules      []accessRule
	// services are the types of service in the catalog of a restricted token.
	services []string
}

// place is something with a home domain.
type place struct {
	ID     string `json:"id"`
	Domain struct {
		ID string `json:"id"`
	} `json:"domain"`
}

// answer is what Keystone says of a token, as far as it is read.
type answer struct {
	Token struct {
		Expires time.Time `json:"expires_at"`
		User    place     `json:"user"`
		Project place     `json:"project"`
		Domain  struct {
			ID string `json:"id"`
		} `json:"domain"`
		System map[string]bool `json:"system"`
		Roles  []struct {
			Name string `json:"name"`
		} `json:"roles"`
		AdminProject *bool          `json:"is_admin_project"`
		Bind         map[string]any `json:"bind"`
		Catalog      []struct {
			Type string `json:"type"`
		} `json:"catalog"`
		Credential *struct {
			Rules *[]writtenRule `json:"access_rules"`
		} `json:"application_credential"`
	} `json:"token"`
}

// read makes a token of what Keystone says. An answer without what every token has
// is none of Keystone's.
func (a *answer) read() (*token, error) {
	told := a.Token
	switch {
	case told.Expires.IsZero():
		return nil, errors.New("the answer does not say when the token expires")
	case told.User.ID == "":
		return nil, errors.New("the answer names no user")
	case len(told.Bind) > 0:
		return nil, &auth.Refused{Reason: "the token is bound to something that cannot be checked here"}
	}
	read := &token{expires: told.Expires, caller: auth.Caller{
		UserID: told.User.ID, UserDomainID: told.User.Domain.ID,
		ProjectID: told.Project.ID, ProjectDomainID: told.Project.Domain.ID,
		DomainID:        told.Domain.ID,
		OrdinaryProject: told.AdminProject != nil && !*told.AdminProject,
	}}
	if told.System["all"] {
		read.caller.SystemScope = "all"
	}
	for _, role := range told.Roles {
		read.caller.Roles = append(read.caller.Roles, role.Name)
	}
	if told.Credential != nil && told.Credential.Rules != nil {
		read.restricted = true
		for _, rule := range *told.Credential.Rules {
			read.rules = append(read.rules, rule.compile())
		}
		for _, service := range told.Catalog {
			read.services = append(read.services, service.Type)
		}
	}
	return read, nil
}
