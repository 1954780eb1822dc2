package keystone

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/berthd/berth/internal/exactjson"
	"github.com/berthd/berth/server/identity/auth"
)

// token is the result of a successful token validation.
type token struct {
	expires time.Time
	// caller is the identity of the token. Its field Service is empty, because that comes from another
	// token.
	caller auth.Caller
	// restricted tokens permit only the requests that their rules list; without rules they permit none.
	restricted bool
	rules      []accessRule
	// services lists the service types in the catalog of a restricted token.
	services []string
}

// domainScoped is a user or project with its domain.
type domainScoped struct {
	ID     string `json:"id"`
	Domain struct {
		ID string `json:"id"`
	} `json:"domain"`
}

// answer is the part of Keystone's response to a validation that Berth reads.
type answer struct {
	Token struct {
		Expires time.Time    `json:"expires_at"`
		User    domainScoped `json:"user"`
		Project domainScoped `json:"project"`
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

// readAnswer decodes a response of Keystone and closes it.
func readAnswer(response *http.Response) (*answer, error) {
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	found := &answer{}
	if err := exactjson.Unmarshal(body, found); err != nil {
		return nil, fmt.Errorf("cannot decode the response of Keystone: %w", err)
	}
	return found, nil
}

// read returns the token in the response, or an error if the response lacks a member that every token has.
func (a *answer) read() (*token, error) {
	body := a.Token
	switch {
	case body.Expires.IsZero():
		return nil, errors.New("the response of Keystone has no expires_at")
	case body.User.ID == "":
		return nil, errors.New("the response of Keystone has no user")
	case len(body.Bind) > 0:
		return nil, &auth.UnauthenticatedError{Reason: "the token is bound to a credential that Berth cannot check"}
	}
	read := &token{expires: body.Expires, caller: auth.Caller{
		UserID: body.User.ID, UserDomainID: body.User.Domain.ID,
		ProjectID: body.Project.ID, ProjectDomainID: body.Project.Domain.ID,
		DomainID:        body.Domain.ID,
		OrdinaryProject: body.AdminProject != nil && !*body.AdminProject,
	}}
	if body.System["all"] {
		read.caller.SystemScope = "all"
	}
	for _, role := range body.Roles {
		read.caller.Roles = append(read.caller.Roles, role.Name)
	}
	if body.Credential != nil && body.Credential.Rules != nil {
		read.restricted = true
		for _, rule := range *body.Credential.Rules {
			read.rules = append(read.rules, rule.compile())
		}
		for _, service := range body.Catalog {
			read.services = append(read.services, service.Type)
		}
	}
	return read, nil
}
