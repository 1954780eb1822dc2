package policy

import "github.com/berthd/berth/server/auth"

// noValue is how a value that is not there is written in rules: domain_id:None.
const noValue = "None"

// credential is an attribute of a caller that rules may look at.
type credential int

// The credentials, in the order of credentialNames.
const (
	credUserID credential = iota
	credProjectID
	credRoles
	credDomainID
	credSystemScope
	credSystem
	credUserDomainID
	credProjectDomainID
	credIsAdminProject
	credServiceUserID
	credServiceProjectID
	credServiceUserDomainID
	credServiceProjectDomainID
	credServiceRoles
)

var credentialNames = []string{
	"user_id", "project_id", "roles", "domain_id", "system_scope", "system", "user_domain_id", "project_domain_id",
	"is_admin_project", "service_user_id", "service_project_id", "service_user_domain_id",
	"service_project_domain_id", "service_roles",
}

// Attributes of what an operation is performed on.
const (
	targetProject = "project_id"
	targetUser    = "user_id"
)

// list gives a credential that is a list: it matches where one of its members does.
func (c credential) list(caller *auth.Caller) (values []string, ok bool) {
	switch c {
	case credRoles:
		return caller.Roles, true
	case credServiceRoles:
		return caller.Service.Roles, true
	}
	return nil, false
}

// value gives any other credential; empty: the caller has none. ok is false for the one
// that is only there where it has a value.
func (c credential) value(caller *auth.Caller) (value string, ok bool) {
	switch c {
	case credUserID:
		return caller.UserID, true
	case credProjectID:
		return caller.ProjectID, true
	case credDomainID:
		return caller.DomainID, true
	case credSystemScope:
		return caller.SystemScope, true
	case credSystem:
		return caller.SystemScope, caller.SystemScope != ""
	case credUserDomainID:
		return caller.UserDomainID, true
	case credProjectDomainID:
		return caller.ProjectDomainID, true
	case credIsAdminProject:
		if caller.OrdinaryProject {
			return "False", true
		}
		return "True", true
	case credServiceUserID:
		return caller.Service.UserID, true
	case credServiceProjectID:
		return caller.Service.ProjectID, true
	case credServiceUserDomainID:
		return caller.Service.UserDomainID, true
	case credServiceProjectDomainID:
		return caller.Service.ProjectDomainID, true
	}
	return "", false
}
