package policy

import "github.com/berthd/berth/server/identity/auth"

// noValue is the text for a missing value in rules: domain_id:None.
const noValue = "None"

// credential is an attribute of a caller that rules can use.
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

// The attributes of the target of an operation.
const (
	targetProject         = "project_id"
	targetUser            = "user_id"
	targetNodeOwner       = "node.owner"
	targetNodeLessee      = "node.lessee"
	targetAllocationOwner = "allocation.owner"
)

var targetNames = []string{targetProject, targetUser, targetNodeOwner, targetNodeLessee, targetAllocationOwner}

// list returns a credential that is a list: it matches if one of its members does.
func (c credential) list(caller *auth.Caller) (values []string, ok bool) {
	switch c {
	case credRoles:
		return caller.Roles, true
	case credServiceRoles:
		return caller.Service.Roles, true
	}
	return nil, false
}

// value returns any other credential; an empty value means that the caller has none. ok is false for the
// credential that exists only with a value, if it has none.
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
