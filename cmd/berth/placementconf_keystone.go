package main

import "strings"

// Why options of [keystone_authtoken] have no effect.
const (
	whyMemory   = "each process keeps the tokens that it has validated in its own memory"
	whyVersion  = "only version 3 of the Identity API is spoken"
	whySignIn   = "Berth signs in with a password or an application credential, to a project or the system"
	whyAncient  = "it is of the time before auth_type; write auth_url, username, password and the rest"
	whySession  = "the connections to Keystone have no such choice"
	whyRefusing = "who has no valid token is always refused"
)

// authtokenOptions are those of the middleware and, marked as plugin, those that it
// signs in with. Each that is used is called like its setting.
func authtokenOptions() []confOption {
	var options []confOption
	for _, name := range []string{
		"interface", "cafile", "certfile", "keyfile", "insecure", "region_name", "http_connect_timeout", "http_request_max_retries",
		"token_cache_time", "service_type", "service_token_roles", "service_token_roles_required",
	} {
		options = append(options, confOption{group: authGroup, name: name, setting: keystoneRow(name)})
	}
	for _, name := range []string{
		"auth_url", "user_id", "password", "user_domain_id", "user_domain_name", "project_domain_id", "project_domain_name", "system_scope",
		"application_credential_id", "application_credential_secret",
	} {
		options = append(options, confOption{group: authGroup, name: name, plugin: true, setting: keystoneRow(name)})
	}
	options = append(options,
		confOption{group: authGroup, name: "www_authenticate_uri", aliases: []string{"auth_uri"}, setting: keystoneRow("www_authenticate_uri")},
		confOption{group: authGroup, name: "auth_type", aliases: []string{"auth_plugin"}, plugin: true, setting: keystoneRow("auth_type")},
		confOption{group: authGroup, name: "username", aliases: []string{"user_name", "user-name"}, plugin: true, setting: keystoneRow("username")},
		confOption{group: authGroup, name: "project_name", aliases: []string{"tenant_name", "project-name", "tenant-name"}, plugin: true, setting: keystoneRow("project_name")},
		confOption{group: authGroup, name: "project_id", aliases: []string{"tenant_id", "project-id", "tenant-id"}, plugin: true, setting: keystoneRow("project_id")},
		confOption{group: authGroup, name: "auth_section", quiet: true, unused: "it names the group that holds the rest"},
	)
	for _, of := range []string{"user", "project"} {
		for _, kind := range []string{"id", "name"} {
			options = append(options, confOption{group: authGroup, name: "default_domain_" + kind, plugin: true,
				setting: keystoneRow(of + "_domain_" + kind), read: unlessDomain(of)})
		}
	}
	return append(options, unusedAuthtokenOptions()...)
}

func keystoneRow(option string) string { return "keystone-" + strings.ReplaceAll(option, "_", "-") }

// unlessDomain takes the default domain for one that is not given in either form.
func unlessDomain(of string) func(*placementConf, fromFile) (fromFile, bool) {
	return func(c *placementConf, found fromFile) (fromFile, bool) {
		return found, c.text(authGroup, of+"_domain_id") == "" && c.text(authGroup, of+"_domain_name") == ""
	}
}

func unusedAuthtokenOptions() []confOption {
	options := []confOption{
		{group: authGroup, name: "delay_auth_decision", unused: whyRefusing, same: []string{"false"}},
		{group: authGroup, name: "include_service_catalog", quiet: true, unused: "nothing of Berth reads the catalog of a caller"},
		{group: authGroup, name: "enforce_token_bind", unused: "no Keystone of today binds tokens", same: []string{"permissive", "disabled"}},
		{group: authGroup, name: "memcached_servers", aliases: []string{"memcache_servers"}, unused: whyMemory},
		{group: authGroup, name: "auth_version", unused: whyVersion, same: []string{"v3", "3", "3.0", "v3.0"}},
	}
	for _, list := range []struct {
		reason string
		names  []string
	}{
		{whyMemory, []string{
			"cache", "memcache_security_strategy", "memcache_secret_key", "memcache_pool_dead_retry", "memcache_pool_maxsize",
			"memcache_pool_socket_timeout", "memcache_pool_unused_timeout", "memcache_pool_conn_get_timeout", "memcache_use_advanced_pool",
			"memcache_password", "memcache_sasl_enabled", "memcache_username", "memcache_tls_enabled", "memcache_tls_cafile", "memcache_tls_certfile",
			"memcache_tls_keyfile", "memcache_tls_allowed_ciphers", "signing_dir", "check_revocations_for_cached", "revocation_cache_time", "hash_algorithms",
		}},
		{whyAncient, []string{
			"auth_host", "auth_port", "auth_protocol", "auth_admin_prefix", "identity_uri", "admin_user", "admin_password", "admin_tenant_name", "admin_token",
		}},
		{whySession, []string{
			"timeout", "split_loggers", "collect_timing", "service_name", "valid_interfaces", "endpoint_override", "version", "min_version", "max_version",
			"connect_retries", "connect_retry_delay", "status_code_retries", "status_code_retry_delay", "retriable_status_codes",
		}},
	} {
		for _, name := range list.names {
			options = append(options, confOption{group: authGroup, name: name, unused: list.reason})
		}
	}
	for _, name := range []string{"trust_id", "domain_id", "domain_name", "passcode", "application_credential_name", "token", "endpoint"} {
		options = append(options, confOption{group: authGroup, name: name, plugin: true, unused: whySignIn})
	}
	return options
}
