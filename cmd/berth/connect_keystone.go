package main

import (
	"cmp"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/config/clouds"

	"github.com/berthd/berth/client"
)

// keystone reads who asks from clouds.yaml if a cloud is named, else from the
// variables of an openrc file. Certificates of clouds.yaml go into the transport.
//
// The library's own reader of variables is not used: it asks the process instead
// of the environment it is given, and knows no domain of a project.
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
		return nil, mistakes{&mistake{"cloud", e.cloud, "clouds.yaml", rule{
			fmt.Sprintf("cannot be used: %v", err), "name one that is there, or use the OS_ variables without OS_CLOUD"}}}
	}
	transport.TLSClientConfig = certificates
	who.AllowReauth = true
	where.Region = endpoint.Region
	where.Interface = string(endpoint.Availability)
	return client.WithKeystone(who, where), nil
}

// cloudFiles are the places where the OpenStack clients look for clouds.yaml.
func (e *endpoint) cloudFiles() []string {
	if named := e.variables["OS_CLIENT_CONFIG_FILE"]; named != "" {
		return []string{named}
	}
	configs := cmp.Or(e.variables["XDG_CONFIG_HOME"], filepath.Join(e.variables["HOME"], ".config"))
	return []string{"clouds.yaml", filepath.Join(configs, "openstack", "clouds.yaml"), "/etc/openstack/clouds.yaml"}
}

// openrc reads the OS_ variables: a password, a token or an application
// credential, and the scope that goes with it.
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
	// The domain of a user goes only with a name: an id is unique by itself, and
	// the library refuses what is not needed.
	if who.Username != "" && who.ApplicationCredentialID == "" {
		who.DomainID = of("OS_USER_DOMAIN_ID", "OS_DOMAIN_ID")
		if who.DomainID == "" {
			who.DomainName = cmp.Or(of("OS_USER_DOMAIN_NAME", "OS_DOMAIN_NAME"), "Default")
		}
	}
	if byCredential {
		return who, nil // it carries its own scope
	}
	who.Scope = scopeOf(of)
	return who, nil
}

// checkOpenrc names the first variable that is missing.
func checkOpenrc(who gophercloud.AuthOptions) error {
	missing := func(names, why string) error {
		return mistakes{&mistake{"auth", "keystone", "OS_ variables", rule{"needs " + names + why, "source an openrc file, name a --cloud, or choose another --auth"}}}
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

// scopeOf is the project, the system or the domain that a token shall be for; nil
// leaves the choice to keystone.
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
