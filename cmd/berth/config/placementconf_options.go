package config

import "slices"

// confOption is an option of placement.conf: it either sets a setting of Berth or has no effect,
// for a reason.
type confOption struct {
	group, Name string
	// aliases are deprecated names, newest first; a name with a dot is in another group.
	aliases []string
	// setting is the name of the setting that the option sets.
	setting string
	// multi marks a multi-valued option, all of whose entries count.
	multi bool
	// plugin marks an option in the group that auth_section names, if that is set.
	plugin bool
	// read converts the value if the kind of the setting does not determine the conversion.
	read func(*placementConf, fromFile) (found fromFile, ok bool)
	// unused is the reason why an option has no effect. It completes "has no effect: …". Options
	// with the same reason share one warning.
	unused string
	// same lists the values that request what Berth does anyway; they cause no warning.
	same []string
	// quiet marks an option that never causes a warning.
	quiet bool
	// fallback is the default, for references in other options.
	fallback string
}

// authGroup is the group of the options for Keystone.
const authGroup = "keystone_authtoken"

// Reasons why options have no effect.
const (
	reasonLogs  = "Berth writes its log to standard error or --log-file in the format of --log-format; rotate and ship it with logrotate or journald"
	reasonPool  = "the connection pool keeps, checks and reopens connections without settings"
	whyNotOurs  = "it applies to databases other than PostgreSQL"
	whyDirs     = "it is a directory of the Python program"
	whyNoTool   = "Berth does not have this tool; it traces with OpenTelemetry"
	whyNoPython = "it is internal to the Python program"
)

// confOptions returns all options. Options of the same setting are in the order of their
// precedence.
func confOptions() []confOption {
	return slices.Concat(generalOptions(), placementOptions(), databaseOptions(), corsOptions(), policyOptions(), authtokenOptions())
}

func generalOptions() []confOption {
	options := []confOption{
		{group: "DEFAULT", Name: "debug", setting: "log-level", read: whenTrue("debug")},
		{group: "DEFAULT", Name: "use_json", setting: "log-format", read: whenTrue("json")},
		{group: "DEFAULT", Name: "log_options", setting: "log-options"},
		{group: "DEFAULT", Name: "log_config_append", aliases: []string{"log_config"}, unused: reasonLogs},
		{group: "DEFAULT", Name: "log_file", aliases: []string{"logfile"}, setting: "log-file", read: (*placementConf).logFile},
		{group: "DEFAULT", Name: "log_dir", aliases: []string{"logdir"}, setting: "log-file", read: (*placementConf).logFile},
		{group: "DEFAULT", Name: "watch_log_file", quiet: true, unused: "Berth always reopens a log file after its rotation"},
		{group: "DEFAULT", Name: "use_stderr", quiet: true, unused: reasonLogs},
		{group: "DEFAULT", Name: "use_syslog", unused: reasonLogs, same: []string{"false"}},
		{group: "DEFAULT", Name: "use_journal", quiet: true, unused: reasonLogs},
		{group: "DEFAULT", Name: "use_eventlog", quiet: true, unused: reasonLogs},
		{group: "DEFAULT", Name: "verbose", quiet: true, unused: reasonLogs},
		{group: "DEFAULT", Name: "fatal_deprecations", quiet: true, unused: whyNoPython},
		{group: "DEFAULT", Name: "fatal_exception_format_errors", quiet: true, unused: whyNoPython},
		{group: "DEFAULT", Name: "publish_errors", unused: reasonLogs, same: []string{"false"}},
		{group: "DEFAULT", Name: "pybasedir", quiet: true, unused: whyDirs, fallback: "/usr/lib/python3/dist-packages"},
		{group: "DEFAULT", Name: "state_path", quiet: true, unused: whyDirs, fallback: "$pybasedir"},
		{group: "DEFAULT", Name: "bindir", quiet: true, unused: whyDirs},
		{group: "DEFAULT", Name: "tempdir", quiet: true, unused: whyDirs},
		{group: "profiler", Name: "enabled", aliases: []string{"profiler_enabled"}, unused: whyNoTool, same: []string{"false"}},
	}
	for _, name := range []string{
		"log_date_format", "syslog_log_facility", "log_color", "log_rotate_interval", "log_rotate_interval_type",
		"max_logfile_count", "max_logfile_size_mb", "log_rotation_type", "logging_context_format_string", "logging_default_format_string",
		"logging_debug_format_suffix", "logging_exception_prefix", "logging_user_identity_format", "default_log_levels",
		"instance_format", "instance_uuid_format", "rate_limit_interval", "rate_limit_burst", "rate_limit_except_level",
	} {
		options = append(options, confOption{group: "DEFAULT", Name: name, unused: reasonLogs})
	}
	for _, name := range []string{
		"trace_sqlalchemy", "trace_requests", "hmac_keys", "connection_string", "es_doc_type", "es_scroll_time", "es_scroll_size", "socket_timeout",
		"sentinel_service_name", "filter_error_trace",
	} {
		options = append(options, confOption{group: "profiler", Name: name, quiet: true, unused: whyNoTool})
	}
	return options
}

func placementOptions() []confOption {
	return []confOption{
		{group: "api", Name: "auth_strategy", aliases: []string{"DEFAULT.auth_strategy"}, setting: "auth"},
		{group: "placement", Name: "randomize_allocation_candidates", setting: "randomize-allocation-candidates"},
		{group: "placement", Name: "incomplete_consumer_project_id", setting: "incomplete-consumer-project-id"},
		{group: "placement", Name: "incomplete_consumer_user_id", setting: "incomplete-consumer-user-id"},
		{group: "placement", Name: "allocation_conflict_retry_count", setting: "allocation-conflict-retry-count"},
		{group: "placement", Name: "max_allocation_candidates", setting: "max-allocation-candidates"},
		{group: "placement", Name: "allocation_candidates_generation_strategy", setting: "allocation-candidates-generation-strategy"},
		{group: "workarounds", Name: "optimize_for_wide_provider_trees", quiet: true,
			unused: "the search always prunes providers without enough free capacity"},
		{group: "oslo_middleware", Name: "enable_proxy_headers_parsing", setting: "proxy-headers"},
		{group: "oslo_middleware", Name: "max_request_body_size", unused: "OpenStack Placement ignores it too; --max-body-bytes is the limit"},
	}
}

func databaseOptions() []confOption {
	return []confOption{
		{group: "placement_database", Name: "connection", setting: "database-url", read: (*placementConf).databaseURL},
		{group: "placement_database", Name: "slave_connection", setting: "replica-url", read: (*placementConf).replicaURL},
		{group: "placement_database", Name: "max_pool_size", setting: "db-max-connections", read: (*placementConf).poolSize},
		{group: "placement_database", Name: "max_overflow", setting: "db-max-connections", read: (*placementConf).poolSize},
		{group: "placement_database", Name: "sync_on_startup", setting: "migrate"},
		{group: "placement_database", Name: "connection_parameters", quiet: true, unused: "it is part of connection"},
		{group: "placement_database", Name: "sqlite_synchronous", quiet: true, unused: whyNotOurs},
		{group: "placement_database", Name: "mysql_sql_mode", quiet: true, unused: whyNotOurs},
		{group: "placement_database", Name: "mysql_wsrep_sync_wait", quiet: true, unused: whyNotOurs},
		{group: "placement_database", Name: "connection_recycle_time", aliases: []string{"idle_timeout"}, quiet: true, unused: reasonPool},
		{group: "placement_database", Name: "max_retries", quiet: true, unused: reasonPool},
		{group: "placement_database", Name: "retry_interval", quiet: true, unused: reasonPool},
		{group: "placement_database", Name: "pool_timeout", unused: "a request waits for a connection until --request-timeout"},
		{group: "placement_database", Name: "connection_debug", unused: "Berth logs statements at --log-level debug", same: []string{"0"}},
		{group: "placement_database", Name: "connection_trace", unused: whyNoTool, same: []string{"false"}},
	}
}

func corsOptions() []confOption {
	return []confOption{
		{group: "cors", Name: "allowed_origin", setting: "cors-allowed-origin"},
		{group: "cors", Name: "allow_credentials", setting: "cors-allow-credentials"},
		{group: "cors", Name: "expose_headers", setting: "cors-expose-headers"},
		{group: "cors", Name: "max_age", setting: "cors-max-age"},
		{group: "cors", Name: "allow_methods", setting: "cors-allow-methods"},
		{group: "cors", Name: "allow_headers", setting: "cors-allow-headers"},
	}
}

func policyOptions() []confOption {
	options := []confOption{
		{group: "oslo_policy", Name: "policy_file", aliases: []string{"placement.policy_file", "DEFAULT.policy_file"}, setting: "policy-file", fallback: "policy.yaml"},
		{group: "oslo_policy", Name: "policy_dirs", aliases: []string{"DEFAULT.policy_dirs"}, multi: true, setting: "policy-dirs"},
		{group: "oslo_policy", Name: "policy_default_rule", aliases: []string{"DEFAULT.policy_default_rule"}, setting: "policy-default-rule"},
		{group: "oslo_policy", Name: "enforce_scope", setting: "enforce-scope"},
		{group: "oslo_policy", Name: "enforce_new_defaults", setting: "enforce-new-defaults"},
	}
	for _, name := range []string{
		"remote_content_type", "remote_ssl_verify_server_crt", "remote_ssl_ca_crt_file", "remote_ssl_client_crt_file",
		"remote_ssl_client_key_file", "remote_timeout",
	} {
		options = append(options, confOption{group: "oslo_policy", Name: name,
			unused: "rules that query another server (http:) are not supported; a policy file that has one is invalid"})
	}
	return options
}
