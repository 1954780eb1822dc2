package config

import "strings"

// Reasons why options of [keystone_authtoken] have no effect.
const (
	reasonTokenCache     = "each server caches validated tokens in its own memory"
	whyVersion           = "Berth supports only version 3 of the Identity API"
	whySignIn            = "Berth authenticates with a password or an application credential, scoped to a project or the system"
	reasonDeprecatedAuth = "deprecated since auth_type exists; set auth_url, username, password and the other keystoneauth options"
	whySession           = "Berth's connections to Keystone do not support it"
	whyRefusing          = "Berth always rejects requests without a valid token"
)

// authtokenOptions returns the options of keystonemiddleware and, marked as plugin, those of its
// authentication plugin. Each supported option has the name of its setting.
func authtokenOptions() []confOption {
	var options []confOption
	for _, name := range []string{
		"interface", "cafile", "certfile", "keyfile", "insecure", "region_name", "http_connect_timeout", "http_request_max_retries",
		"token_cache_time", "service_type", "service_token_roles", "service_token_roles_required",
	} {
		options = append(options, confOption{group: authGroup, Name: name, setting: keystoneRow(name)})
	}
	for _, name := range []string{
		"auth_url", "user_id", "password", "user_domain_id", "user_domain_name", "project_domain_id", "project_domain_name", "system_scope",
		"application_credential_id", "application_credential_secret",
	} {
		options = append(options, confOption{group: authGroup, Name: name, plugin: true, setting: keystoneRow(name)})
	}
	options = append(options,
		confOption{group: authGroup, Name: "www_authenticate_uri", aliases: []string{"auth_uri"}, setting: keystoneRow("www_authenticate_uri")},
		confOption{group: authGroup, Name: "auth_type", aliases: []string{"auth_plugin"}, plugin: true, setting: keystoneRow("auth_type")},
		confOption{group: authGroup, Name: "username", aliases: []string{"user_name", "user-name"}, plugin: true, setting: keystoneRow("username")},
		confOption{group: authGroup, Name: "project_name", aliases: []string{"tenant_name", "project-name", "tenant-name"}, plugin: true, setting: keystoneRow("project_name")},
		confOption{group: authGroup, Name: "project_id", aliases: []string{"tenant_id", "project-id", "tenant-id"}, plugin: true, setting: keystoneRow("project_id")},
		confOption{group: authGroup, Name: "auth_section", quiet: true, unused: "it names the group of the other options"},
	)
	for _, of := range []string{"user", "project"} {
		for _, kind := range []string{"id", "name"} {
			options = append(options, confOption{group: authGroup, Name: "default_domain_" + kind, plugin: true,
				setting: keystoneRow(of + "_domain_" + kind), read: unlessDomain(of)})
		}
	}
	return append(options, unusedAuthtokenOptions()...)
}

func keystoneRow(option string) string { return "keystone-" + strings.ReplaceAll(option, "_", "-") }

// unlessDomain returns a reader that uses the default domain if neither the ID nor the name of
// the domain is set.
func unlessDomain(of string) func(*placementConf, fromFile) (fromFile, bool) {
	return func(c *placementConf, found fromFile) (fromFile, bool) {
		return found, c.text(authGroup, of+"_domain_id") == "" && c.text(authGroup, of+"_domain_name") == ""
	}
}

func unusedAuthtokenOptions() []confOption {
	options := []confOption{
		{group: authGroup, Name: "delay_auth_decision", unused: whyRefusing, same: []string{"false"}},
		{group: authGroup, Name: "include_service_catalog", quiet: true, unused: "Berth does not use the service catalog of a token"},
		{group: authGroup, Name: "enforce_token_bind", unused: "current versions of Keystone do not bind tokens", same: []string{"permissive", "disabled"}},
		{group: authGroup, Name: "memcached_servers", aliases: []string{"memcache_servers"}, unused: reasonTokenCache},
		{group: authGroup, Name: "auth_version", unused: whyVersion, same: []string{"v3", "3", "3.0", "v3.0"}},
	}
	for _, list := range []struct {
		reason string
		names  []string
	}{
		{reasonTokenCache, []string{
			"cache", "memcache_security_strategy", "memcache_secret_key", "memcache_pool_dead_retry", "memcache_pool_maxsize",
			"memcache_pool_socket_timeout", "memcache_pool_unused_timeout", "memcache_pool_conn_get_timeout", "memcache_use_advanced_pool",
			"memcache_password", "memcache_sasl_enabled", "memcache_username", "memcache_tls_enabled", "memcache_tls_cafile", "memcache_tls_certfile",
			"memcache_tls_keyfile", "memcache_tls_allowed_ciphers", "signing_dir", "check_revocations_for_cached", "revocation_cache_time", "hash_algorithms",
		}},
		{reasonDeprecatedAuth, []string{
			"auth_host", "auth_port", "auth_protocol", "auth_admin_prefix", "identity_uri", "admin_user", "admin_password", "admin_tenant_name", "admin_token",
		}},
		{whySession, []string{
			"timeout", "split_loggers", "collect_timing", "service_name", "valid_interfaces", "endpoint_override", "version", "min_version", "max_version",
			"connect_retries", "connect_retry_delay", "status_code_retries", "status_code_retry_delay", "retriable_status_codes",
		}},
	} {
		for _, name := range list.names {
			options = append(options, confOption{group: authGroup, Name: name, unused: list.reason})
		}
	}
	for _, name := range []string{"trust_id", "domain_id", "domain_name", "passcode", "application_credential_name", "token", "endpoint"} {
		options = append(options, confOption{group: authGroup, Name: name, plugin: true, unused: whySignIn})
	}
	return options
}
