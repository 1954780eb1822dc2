package main

import "slices"

// confOption is an option of placement.conf and what becomes of it: it is a setting of
// ours, or it has no effect, for a reason.
type confOption struct {
	group, name string
	// aliases are names of before, newest first; with a dot in another group.
	aliases []string
	// setting is the row of the table that the option fills.
	setting string
	// multi options count as often as they are given.
	multi bool
	// plugin options stand in the group that auth_section names, if it does.
	plugin bool
	// read makes the value where the kind of the setting is not enough.
	read func(*placementConf, fromFile) (found fromFile, ok bool)
	// unused is the reason why an option has no effect. It completes the sentence
	// "has no effect: …", and several options with one reason make one warning.
	unused string
	// same lists the values that ask for what happens anyway, of which nobody is warned.
	same []string
	// quiet options are never worth a warning.
	quiet bool
	// fallback is the default, for other options that refer to it.
	fallback string
}

// authGroup is the group of everything about Keystone.
const authGroup = "keystone_authtoken"

// Why options have no effect.
const (
	whyLogs     = "the log goes to standard error or --log-file, in one of the forms of --log-format, and others turn it over and carry it on"
	whyPool     = "the connections to PostgreSQL are kept, checked and opened again without settings"
	whyNotOurs  = "it is for other databases than PostgreSQL"
	whyDirs     = "it says where the parts of the Python program are"
	whyNoTool   = "there is no such tool in Berth; traces are made with OpenTelemetry"
	whyNoPython = "it is about the inside of the Python program"
)

// confOptions lists every option. Options that share a setting come in the order in
// which they are asked.
func confOptions() []confOption {
	return slices.Concat(generalOptions(), placementOptions(), databaseOptions(), corsOptions(), policyOptions(), authtokenOptions())
}

func generalOptions() []confOption {
	options := []confOption{
		{group: "DEFAULT", name: "debug", setting: "log-level", read: whenTrue("debug")},
		{group: "DEFAULT", name: "use_json", setting: "log-format", read: whenTrue("json")},
		{group: "DEFAULT", name: "log_options", setting: "log-options"},
		{group: "DEFAULT", name: "log_config_append", aliases: []string{"log_config"}, unused: whyLogs},
		{group: "DEFAULT", name: "log_file", aliases: []string{"logfile"}, setting: "log-file", read: (*placementConf).logFile},
		{group: "DEFAULT", name: "log_dir", aliases: []string{"logdir"}, setting: "log-file", read: (*placementConf).logFile},
		{group: "DEFAULT", name: "watch_log_file", quiet: true, unused: "a log file that is moved away is always noticed"},
		{group: "DEFAULT", name: "use_stderr", quiet: true, unused: whyLogs},
		{group: "DEFAULT", name: "use_syslog", unused: whyLogs, same: []string{"false"}},
		{group: "DEFAULT", name: "use_journal", quiet: true, unused: whyLogs},
		{group: "DEFAULT", name: "use_eventlog", quiet: true, unused: whyLogs},
		{group: "DEFAULT", name: "verbose", quiet: true, unused: whyLogs},
		{group: "DEFAULT", name: "fatal_deprecations", quiet: true, unused: whyNoPython},
		{group: "DEFAULT", name: "fatal_exception_format_errors", quiet: true, unused: whyNoPython},
		{group: "DEFAULT", name: "publish_errors", unused: whyLogs, same: []string{"false"}},
		{group: "DEFAULT", name: "pybasedir", quiet: true, unused: whyDirs, fallback: "/usr/lib/python3/dist-packages"},
		{group: "DEFAULT", name: "state_path", quiet: true, unused: whyDirs, fallback: "$pybasedir"},
		{group: "DEFAULT", name: "bindir", quiet: true, unused: whyDirs},
		{group: "DEFAULT", name: "tempdir", quiet: true, unused: whyDirs},
		{group: "profiler", name: "enabled", aliases: []string{"profiler_enabled"}, unused: whyNoTool, same: []string{"false"}},
	}
	for _, name := range []string{
		"log_date_format", "syslog_log_facility", "log_color", "log_rotate_interval", "log_rotate_interval_type",
		"max_logfile_count", "max_logfile_size_mb", "log_rotation_type", "logging_context_format_string", "logging_default_format_string",
		"logging_debug_format_suffix", "logging_exception_prefix", "logging_user_identity_format", "default_log_levels",
		"instance_format", "instance_uuid_format", "rate_limit_interval", "rate_limit_burst", "rate_limit_except_level",
	} {
		options = append(options, confOption{group: "DEFAULT", name: name, unused: whyLogs})
	}
	for _, name := range []string{
		"trace_sqlalchemy", "trace_requests", "hmac_keys", "connection_string", "es_doc_type", "es_scroll_time", "es_scroll_size", "socket_timeout",
		"sentinel_service_name", "filter_error_trace",
	} {
		options = append(options, confOption{group: "profiler", name: name, quiet: true, unused: whyNoTool})
	}
	return options
}

func placementOptions() []confOption {
	return []confOption{
		{group: "api", name: "auth_strategy", aliases: []string{"DEFAULT.auth_strategy"}, setting: "auth"},
		{group: "placement", name: "randomize_allocation_candidates", setting: "randomize-allocation-candidates"},
		{group: "placement", name: "incomplete_consumer_project_id", setting: "incomplete-consumer-project-id"},
		{group: "placement", name: "incomplete_consumer_user_id", setting: "incomplete-consumer-user-id"},
		{group: "placement", name: "allocation_conflict_retry_count", setting: "allocation-conflict-retry-count"},
		{group: "placement", name: "max_allocation_candidates", setting: "max-allocation-candidates"},
		{group: "placement", name: "allocation_candidates_generation_strategy", setting: "allocation-candidates-generation-strategy"},
		{group: "workarounds", name: "optimize_for_wide_provider_trees", quiet: true,
			unused: "the search always leaves early what cannot fit, and never by forgetting what is used already"},
		{group: "oslo_middleware", name: "enable_proxy_headers_parsing", setting: "proxy-headers"},
		{group: "oslo_middleware", name: "max_request_body_size", unused: "the service did not look at it either; --max-body-bytes is the limit"},
	}
}

func databaseOptions() []confOption {
	return []confOption{
		{group: "placement_database", name: "connection", setting: "database-url", read: (*placementConf).databaseURL},
		{group: "placement_database", name: "slave_connection", setting: "replica-url", read: (*placementConf).replicaURL},
		{group: "placement_database", name: "max_pool_size", setting: "db-max-connections", read: (*placementConf).poolSize},
		{group: "placement_database", name: "max_overflow", setting: "db-max-connections", read: (*placementConf).poolSize},
		{group: "placement_database", name: "sync_on_startup", setting: "migrate"},
		{group: "placement_database", name: "connection_parameters", quiet: true, unused: "it is a part of connection"},
		{group: "placement_database", name: "sqlite_synchronous", quiet: true, unused: whyNotOurs},
		{group: "placement_database", name: "mysql_sql_mode", quiet: true, unused: whyNotOurs},
		{group: "placement_database", name: "mysql_wsrep_sync_wait", quiet: true, unused: whyNotOurs},
		{group: "placement_database", name: "connection_recycle_time", aliases: []string{"idle_timeout"}, quiet: true, unused: whyPool},
		{group: "placement_database", name: "max_retries", quiet: true, unused: whyPool},
		{group: "placement_database", name: "retry_interval", quiet: true, unused: whyPool},
		{group: "placement_database", name: "pool_timeout", unused: "a request waits for a connection as long as it may take at all (--request-timeout)"},
		{group: "placement_database", name: "connection_debug", unused: "the log shows statements at --log-level debug", same: []string{"0"}},
		{group: "placement_database", name: "connection_trace", unused: whyNoTool, same: []string{"false"}},
	}
}

func corsOptions() []confOption {
	return []confOption{
		{group: "cors", name: "allowed_origin", setting: "cors-allowed-origin"},
		{group: "cors", name: "allow_credentials", setting: "cors-allow-credentials"},
		{group: "cors", name: "expose_headers", setting: "cors-expose-headers"},
		{group: "cors", name: "max_age", setting: "cors-max-age"},
		{group: "cors", name: "allow_methods", setting: "cors-allow-methods"},
		{group: "cors", name: "allow_headers", setting: "cors-allow-headers"},
	}
}

func policyOptions() []confOption {
	options := []confOption{
		{group: "oslo_policy", name: "policy_file", aliases: []string{"placement.policy_file", "DEFAULT.policy_file"}, setting: "policy-file", fallback: "policy.yaml"},
		{group: "oslo_policy", name: "policy_dirs", aliases: []string{"DEFAULT.policy_dirs"}, multi: true, setting: "policy-dirs"},
		{group: "oslo_policy", name: "policy_default_rule", aliases: []string{"DEFAULT.policy_default_rule"}, setting: "policy-default-rule"},
		{group: "oslo_policy", name: "enforce_scope", setting: "enforce-scope"},
		{group: "oslo_policy", name: "enforce_new_defaults", setting: "enforce-new-defaults"},
	}
	for _, name := range []string{
		"remote_content_type", "remote_ssl_verify_server_crt", "remote_ssl_ca_crt_file", "remote_ssl_client_crt_file",
		"remote_ssl_client_key_file", "remote_timeout",
	} {
		options = append(options, confOption{group: "oslo_policy", name: name,
			unused: "rules that ask another server (http:) are not supported, and a policy file that has one is refused"})
	}
	return options
}
