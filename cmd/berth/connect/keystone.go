package connect

import (
	"cmp"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"

	"github.com/berthd/berth/client"
	"github.com/berthd/berth/cmd/berth/frame"
)

// keystone reads the credentials from clouds.yaml if a cloud is named, else from the variables of
// an openrc file. It adds certificates of clouds.yaml to the transport.
//
// gophercloud's reader of variables is not used: it reads the environment of the process and does
// not support domains of projects.
func (e *endpoint) keystone(transport *http.Transport) (client.Option, error) {
	where := client.KeystoneOptions{Region: e.region, Interface: e.interfaces, ServiceType: e.service}
	if e.cloud == "" {
		who, err := e.openrc()
		if err != nil {
			return nil, err
		}
		return client.WithKeystone(who, where), nil
	}
	options := []clouds.ParseOption{
		clouds.WithCloudName(e.cloud), clouds.WithRegion(e.region), clouds.WithEndpointType(e.interfaces),
		clouds.WithCACertPath(e.caCert), clouds.WithLocations(e.cloudFiles()...),
	}
	if e.insecure {
		options = append(options, clouds.WithInsecure(true))
	}
	who, endpoint, certificates, err := clouds.Parse(options...)
	if err != nil {
		return nil, frame.InputErrors{&frame.InputError{Setting: "cloud", Value: e.cloud, Origin: "clouds.yaml", Rule: frame.Rule{
			Broken: fmt.Sprintf("cannot be used: %v", err), Remedy: "name an existing cloud, or use the OS_ variables without OS_CLOUD"}}}
	}
	transport.TLSClientConfig = certificates
	who.AllowReauth = true
	where.Region = endpoint.Region
	where.Interface = string(endpoint.Availability)
	return client.WithKeystone(who, where), nil
}

// cloudFiles returns the paths at which the OpenStack clients search clouds.yaml.
func (e *endpoint) cloudFiles() []string {
	if named := e.variables["OS_CLIENT_CONFIG_FILE"]; named != "" {
		return []string{named}
	}
	configs := cmp.Or(e.variables["XDG_CONFIG_HOME"], filepath.Join(e.variables["HOME"], ".config"))
	return []string{"clouds.yaml", filepath.Join(configs, "openstack", "clouds.yaml"), "/etc/openstack/clouds.yaml"}
}

// openrc reads the OS_ variables: a password, a token or an application credential, and the
// scope.
func (e *endpoint) openrc() (gophercloud.AuthOptions, error) {
	of := func(names ...string) string {
		for _, name := range names {
			if value := e.variables[name]; value != "" {
				return value
			}
		}
		return ""
	}
	who := gophercloud.AuthOptions{
		IdentityEndpoint:            of("OS_AUTH_URL"),
		Username:                    of("OS_USERNAME"),
		UserID:                      of("OS_USER_ID", "OS_USERID"),
		Password:                    of("OS_PASSWORD"),
		Passcode:                    of("OS_PASSCODE"),
		TokenID:                     of("OS_TOKEN"),
		ApplicationCredentialID:     of("OS_APPLICATION_CREDENTIAL_ID"),
		ApplicationCredentialName:   of("OS_APPLICATION_CREDENTIAL_NAME"),
		ApplicationCredentialSecret: of("OS_APPLICATION_CREDENTIAL_SECRET"),
		AllowReauth:                 true,
	}
	if err := checkOpenrc(who); err != nil {
		return who, err
	}
	byCredential := who.ApplicationCredentialID != "" || who.ApplicationCredentialName != ""
	// Only a user name needs a domain: a user ID is unique, and gophercloud rejects superfluous
	// values.
	if who.Username != "" && who.ApplicationCredentialID == "" {
		who.DomainID = of("OS_USER_DOMAIN_ID", "OS_DOMAIN_ID")
		if who.DomainID == "" {
			who.DomainName = cmp.Or(of("OS_USER_DOMAIN_NAME", "OS_DOMAIN_NAME"), "Default")
		}
	}
	if byCredential {
		return who, nil // an application credential has its own scope
	}
	who.Scope = scopeOf(of)
	return who, nil
}

// checkOpenrc returns an error with the first missing variable.
func checkOpenrc(who gophercloud.AuthOptions) error {
	missing := func(names, why string) error {
		return frame.InputErrors{&frame.InputError{Setting: "auth", Value: "keystone", Origin: "OS_ variables", Rule: frame.Rule{Broken: "needs " + names + why, Remedy: "source an openrc file, name a --cloud, or choose another --auth"}}}
	}
	byCredential := who.ApplicationCredentialID != "" || who.ApplicationCredentialName != ""
	switch {
	case who.IdentityEndpoint == "":
		return missing("OS_AUTH_URL", "")
	case byCredential && who.ApplicationCredentialSecret == "":
		return missing("OS_APPLICATION_CREDENTIAL_SECRET", " beside the application credential")
	case byCredential || who.TokenID != "":
		return nil
	case who.Username == "" && who.UserID == "":
		return missing("OS_USERNAME or OS_USER_ID", "")
	case who.Password == "" && who.Passcode == "":
		return missing("OS_PASSWORD", "")
	default:
		return nil
	}
}

// scopeOf returns the scope of the token: a project, the system or a domain; nil means that
// Keystone decides.
func scopeOf(of func(...string) string) *gophercloud.AuthScope {
	switch {
	case of("OS_SYSTEM_SCOPE") == "all":
		return &gophercloud.AuthScope{System: true}
	case of("OS_PROJECT_ID", "OS_TENANT_ID") != "":
		return &gophercloud.AuthScope{ProjectID: of("OS_PROJECT_ID", "OS_TENANT_ID")}
	case of("OS_PROJECT_NAME", "OS_TENANT_NAME") != "":
		scope := &gophercloud.AuthScope{
			ProjectName: of("OS_PROJECT_NAME", "OS_TENANT_NAME"), DomainID: of("OS_PROJECT_DOMAIN_ID", "OS_DOMAIN_ID"),
		}
		if scope.DomainID == "" {
			scope.DomainName = cmp.Or(of("OS_PROJECT_DOMAIN_NAME", "OS_DOMAIN_NAME"), "Default")
		}
		return scope
	case of("OS_DOMAIN_ID") != "":
		return &gophercloud.AuthScope{DomainID: of("OS_DOMAIN_ID")}
	case of("OS_DOMAIN_NAME") != "":
		return &gophercloud.AuthScope{DomainName: of("OS_DOMAIN_NAME")}
	default:
		return nil
	}
}
