"""Names that the products have of their own: settings that no answer depends on, catalogs, and what a question to these
may use. Does not know where in a statement a name stands.
"""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEUTRAL_SETTINGS = _names(
    """
    application_name busy_timeout cache_size client_min_messages enable_seqscan
    idle_in_transaction_session_timeout innodb_lock_wait_timeout jit journal_mode lock_timeout log_min_messages
    max_parallel_workers_per_gather memory_limit statement_timeout synchronous synchronous_commit threads
    wait_timeout work_mem
    """
)
"""Settings without influence on what statements answer."""
PROBES = _names(
    """
    connection_id current_database current_schema current_schemas current_setting database inet_server_addr
    pg_advisory_lock pg_advisory_unlock pg_advisory_unlock_all pg_backend_pid pg_is_in_recovery pg_notify
    pg_try_advisory_lock sqlite_version version
    """
)
"""Functions that ask what server this is, or lock what is no row: a query of them alone is not logged."""
CATALOGS = _names(
    """
    information_schema pg_am pg_attrdef pg_attribute pg_catalog pg_class pg_collation pg_constraint pg_cursors
    pg_database pg_description pg_enum pg_extension pg_index pg_indexes pg_inherits pg_locks pg_namespace pg_proc
    pg_range pg_roles pg_sequence pg_sequences pg_settings pg_stat_activity pg_tables pg_timezone_names pg_trigger
    pg_type pg_views sqlite_master sqlite_schema
    """
)
"""Catalogs, and the schemas that they are in."""
OWN_OPERATORS = _names(
    """
    != !~ !~* % & * + - -> ->> / :: < <= <> = > >= || ~ ~*
    """
)
"""Operators that a question to the catalogs may use."""
OWN_TYPES = _names(
    """
    bigint bool boolean char character information_schema int int2 int4 int8 integer json jsonb name numeric oid
    pg_catalog regclass regnamespace regproc regprocedure regtype smallint text varchar
    """
)
"""Types that it may cast to."""
CATALOG_CALLS = _names(
    """
    age all and any array array_agg array_length array_lower array_position array_to_string array_upper as bool_and
    bool_or btrim by cardinality case cast char char_length character coalesce col_description concat convert count
    decimal distinct else escape except exists filter format format_type from generate_series generate_subscripts
    glob greatest group_concat has_any_column_privilege has_database_privilege has_function_privilege
    has_schema_privilege has_sequence_privilege has_table_privilege if ifnull in information_schema instr intersect
    isnull join json_agg json_build_object jsonb_agg jsonb_build_object lateral least left length like lower ltrim
    max min not nullif numeric obj_description on or over pg_catalog pg_collation_is_visible pg_database_size
    pg_describe_object pg_encoding_to_char pg_function_is_visible pg_get_constraintdef pg_get_expr
    pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result pg_get_functiondef
    pg_get_indexdef pg_get_keywords pg_get_partkeydef pg_get_ruledef pg_get_serial_sequence pg_get_statisticsobjdef
    pg_get_statisticsobjdef_columns pg_get_triggerdef pg_get_userbyid pg_get_viewdef pg_has_role
    pg_index_column_has_property pg_indexes_size pg_is_other_temp_schema pg_my_temp_schema pg_opclass_is_visible
    pg_options_to_table pg_relation_is_publishable pg_relation_size pg_sequence_parameters pg_size_pretty
    pg_stat_get_live_tuples pg_table_is_visible pg_table_size pg_tablespace_location pg_total_relation_size
    pg_type_is_visible position pragma_foreign_key_list pragma_index_info pragma_index_list pragma_index_xinfo
    pragma_table_info pragma_table_xinfo quote_ident quote_literal regexp_match regexp_matches regexp_replace
    replace right row row_number row_security_active rtrim select shobj_description similar split_part string_agg
    substr substring sum then to_regclass to_regtype trim txid_current union unnest upper using values varchar when
    where within
    """
)
"""What it may call: functions of the products; and words that stand in front of a parenthesis."""
SCHEMA_PRAGMAS = _names(
    """
    collation_list database_list encoding foreign_key_list index_info index_list index_xinfo page_size
    schema_version table_info table_list table_xinfo
    """
)
"""Pragmas that ask for SQLite's schema."""
AFTER_TABLES = _names(
    """
    GROUP HAVING LIMIT ON ORDER SELECT UNION USING WHERE WINDOW
    """
)
"""Words behind the tables of a query."""
