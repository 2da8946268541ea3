"""Settings of a session: which change nothing that is modelled, and which only where they are given what holds anyway
(PostgreSQL manual 19, MySQL manual 7.1.8, sqlite.org/pragma.html, DuckDB, Configuration).

What a setting is without a word here is refused by name. Does not know what it was set to before: only the log's own
settings, and each product's defaults where they say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sql_semantics.patterns import pattern
from sql_semantics.values.dialect import Dialect

_UTC = frozenset({"utc", "etc/utc", "gmt", "z", "+00:00", "+0:00", "0", "etc/gmt", "universal", "zulu"})

_INDIFFERENT: Mapping[str, re.Pattern[str]] = {
    "postgres": pattern(
        r"(\w+_timeout|enable_\w+|\w+_cost|log_\w+|debug_\w+|track_\w+|geqo\w*|jit\w*|parallel_\w+|vacuum_\w+"
        r"|autovacuum\w*|(max|min)_parallel_\w+|backend_flush_after|application_name|client_min_messages|work_mem"
        r"|maintenance_work_mem|temp_buffers|effective_\w+|hash_mem_multiplier|synchronous_commit|commit_\w+"
        r"|plan_cache_mode|join_collapse_limit|from_collapse_limit|cursor_tuple_fraction|default_statistics_target"
        r"|constraint_exclusion|client_encoding|names|statement_timeout|check_function_bodies|escape_string_warning"
        r"|default_tablespace|default_table_access_method|temp_tablespaces|gin_pending_list_limit|lc_messages|wal_\w+"
        r"|stats_fetch_consistency|recursive_worktable_factor|compute_query_id|default_toast_compression"
        r"|xmloption|event_triggers|quote_all_identifiers|local_preload_libraries|session_preload_libraries|allow_\w+|max_stack_depth"
        r"|ignore_system_indexes"
        r"|tcp_\w+|exit_on_error|dynamic_library_path|createrole_self_grant|server_\w+|password_encryption"
        r"|logical_\w+|maintenance_\w+|io_\w+|bonjour\w*|huge_\w+|(?!plpgsql\.)\w+(?:\.\w+)+)\Z",
        re.IGNORECASE,
    ),
    "mysql": pattern(
        r"(\w+_timeout|max_execution_time|max_statement_time|net_\w+|profiling|long_query_time|sort_buffer_size"
        r"|join_buffer_size|tmp_table_size|max_heap_table_size|optimizer_\w+|wait_timeout|character_set_results"
        r"|innodb_strict_mode|innodb_snapshot_isolation|innodb_ft_\w+|innodb_table_locks|innodb_lock_wait_timeout"
        r"|old_alter_table|alter_algorithm|lock_wait_timeout|general_log|sql_log_\w+|slow_\w+|log_\w+|min_examined_row_limit"
        r"|query_\w+|read_\w+_size|bulk_insert_buffer_size|max_allowed_packet|max_error_count|max_length_for_sort_data"
        r"|max_seeks_for_key|max_tmp_tables|max_delayed_threads|max_insert_delayed_threads|max_user_connections"
        r"|myisam_\w+|aria_\w+|binlog_\w+|wsrep_\w+|gtid_\w+|server_id|skip_\w+|debug\w*|performance_\w+"
        r"|session_track_\w+"
        r"|thread_\w+|tmp_\w+|use_stat_tables|histogram_\w+|analyze_\w+"
        r"|sql_warnings|sql_notes|sql_buffer_result|sql_quote_show_create|lc_messages|note_verbosity|progress_\w+"
        r"|pseudo_\w+|profiling\w*|protocol_\w+|default_master_connection|keep_files_on_create|range_alloc_\w+"
        r"|mrr_buffer_size|join_\w+|preload_buffer_size|eq_range_\w+|expensive_subquery_limit|rowid_\w+|licen\w+"
        r"|big_tables)\Z",
        re.IGNORECASE,
    ),
    "sqlite": pattern(
        r"(journal_mode|synchronous|busy_timeout|cache_size|cache_spill|temp_store|mmap_size|locking_mode|optimize"
        r"|wal_autocheckpoint|wal_checkpoint|analysis_limit|page_size|auto_vacuum|incremental_vacuum|threads|page_count"
        r"|secure_delete|cell_size_check|table_info|table_xinfo|table_list|index_list|index_info|index_xinfo"
        r"|foreign_key_list|foreign_key_check|integrity_check|quick_check|database_list|compile_options|user_version"
        r"|application_id|schema_version|data_version|collation_list|function_list|module_list|pragma_list"
        r"|freelist_count|journal_size_limit|soft_heap_limit|hard_heap_limit|full_column_names|short_column_names"
        r"|recursive_triggers|trusted_schema|checkpoint_fullfsync|fullfsync|max_page_count|shrink_memory|automatic_index)\Z",
        re.IGNORECASE,
    ),
    "duckdb": pattern(
        r"(threads|worker_threads|memory_limit|max_memory|temp_directory|enable_progress_bar|disable_progress_bar"
        r"|enable_progress_bar_print|progress_bar_time|enable_object_cache|checkpoint_threshold|wal_autocheckpoint"
        r"|enable_profiling|disable_profiling|profile_output|enable_external_access|autoinstall_known_extensions"
        r"|autoload_known_extensions|version|table_info|show_tables|database_list|database_size|storage_info"
        r"|platform|force_checkpoint|enable_logging|disable_logging|custom_user_agent|preserve_insertion_order"
        r"|\w*_directory|\w*_directories|\w*secret\w*|http_\w+|s3_\w+|azure_\w+|duckdb_api|access_mode|password|username|user"
        r"|\w+_threads|\w*memory\w*|\w*logging\w*|\w*log_\w+|\w*profil\w+|\w*progress\w*|\w*checkpoint\w*|allocator_\w+"
        r"|enable_http\w*|explain_output|arrow_\w+|produce_arrow_\w+|\w+_threshold|partitioned_\w+|max_temp\w+"
        r"|allow_\w+|autoinstall_\w+|autoload_\w+|lock_configuration|allowed_\w+|enable_fsst_vectors"
        r"|max_vacuum_\w+|immediate_transaction_mode|index_scan_\w+|perfect_ht_\w+|pin_threads|streaming_buffer_size"
        r"|scheduler_\w+|late_materialization_\w+|prefetch_\w+|enable_object_cache|zstd_\w+|experimental_metadata_reuse"
        r"|disabled_optimizers|catalog_error_\w+|errors_as_json|max_expression_depth|disable_\w*compression\w*|force_compression"
        r"|storage_compatibility_version|write_buffer_\w+|block_allocator_\w+|parquet_\w+|\w+_cache\w*)\Z",
        re.IGNORECASE,
    ),
}
"""Settings that decide how long, by which plan or how loudly, never what; of SQLite's and DuckDB's pragmas also
queries. SQLite's triggers are not run beside a REPLACE, nor where one may fire itself, so that it changes nothing
whether they are recursive; of one that is not run, what it may write holds what all that it may fire may."""


def _utc(value: str, dialect: Dialect) -> bool:
    return dialect.timezone is None and value.lower() in _UTC


def _one_of(*values: str) -> Callable[[str, Dialect], bool]:
    allowed = frozenset(values)
    return lambda value, dialect: value.lower() in allowed


_ON = _one_of("on", "1", "true", "yes", "default")
_OFF = _one_of("off", "0", "false", "no", "default")


def _home(value: str, dialect: Dialect) -> bool:
    """Whether unqualified names mean the tables that they mean anyway."""
    names = [item.strip().strip("\"'") for item in value.split(",")]
    looked_in = [name for name in names if name.lower() not in ("$user", "pg_catalog")]
    return looked_in == list(dialect.search_path or ("public",))


def _same_mode(value: str, dialect: Dialect) -> bool:
    return dialect.sql_mode is not None and _modes(value) == _modes(dialect.sql_mode)


def _modes(value: str) -> set[str]:
    """Without IGNORE_SPACE, which decides what can be parsed and not what that means; Connector/J comes with it."""
    return {item.strip().upper() for item in value.split(",")} - {"IGNORE_SPACE"}


def _enforced(value: str, dialect: Dialect) -> bool:
    if dialect.sets_foreign_keys:
        return True
    on = value.lower() in ("on", "1", "true", "yes")
    off = value.lower() in ("off", "0", "false", "no")
    return (on or off) and dialect.foreign_keys is on


def _cased(value: str, dialect: Dialect) -> bool:
    return value.lower() in ("on", "1", "true", "yes") if dialect.like_keeps_case else _OFF(value, dialect)


def _utf8(value: str, dialect: Dialect) -> bool:
    return value.lower() in ("utf8mb4", "utf8", "utf8mb3", "default")


def _plain_locale(value: str, dialect: Dialect) -> bool:
    return re.fullmatch(r"c(\.utf-?8)?|posix|default", value, re.IGNORECASE) is not None


def _own_collation(value: str, dialect: Dialect) -> bool:
    own = dialect.literals or dialect.collation
    return own is not None and value.lower() == own.lower()


_KEPT: Mapping[str, Mapping[str, Callable[[str, Dialect], bool]]] = {
    "postgres": {
        "timezone": _utc,
        "time zone": _utc,
        "search_path": _home,
        "standard_conforming_strings": _ON,
        "datestyle": lambda value, dialect: value.lower().replace(" ", "").startswith("iso"),
        "intervalstyle": _one_of("postgres"),
        "bytea_output": _one_of("hex"),
        "extra_float_digits": _one_of("1", "2", "3"),
        "row_security": _ON,
        "array_nulls": _ON,
        "transform_null_equals": _OFF,
        "role": _one_of("none"),
        "session_replication_role": _one_of("origin", "default"),
        "lc_numeric": _plain_locale,
        "lc_monetary": _plain_locale,
        "lc_time": _plain_locale,
        "timezone_abbreviations": _one_of("default"),
    },
    "mysql": {
        "time_zone": _utc,
        "sql_mode": _same_mode,
        "foreign_key_checks": _ON,
        "unique_checks": _ON,
        "check_constraint_checks": _ON,
        "sql_auto_is_null": _OFF,
        "sql_safe_updates": _OFF,
        "names": _utf8,
        "character_set_client": _utf8,
        "character_set_connection": _utf8,
        "collation_connection": _own_collation,
        "autocommit": _one_of("0", "1", "on", "off"),
        "div_precision_increment": lambda value, dialect: value == str(dialect.quotient_digits),
        "group_concat_max_len": lambda value, dialect: value == str(dialect.list_bytes),
    },
    "sqlite": {
        "foreign_keys": _enforced,
        "ignore_check_constraints": _OFF,
        "case_sensitive_like": _cased,
        "legacy_alter_table": _OFF,
        "read_uncommitted": _OFF,
        "defer_foreign_keys": _OFF,
        "query_only": _OFF,
        "reverse_unordered_selects": _OFF,
        "encoding": _one_of("utf-8", "utf8"),
    },
    "duckdb": {
        "timezone": _utc,
        "search_path": _one_of("main"),
        "schema": _one_of("main"),
        "default_null_order": _one_of("nulls_last", "nulls last"),
        "default_order": _one_of("asc", "ascending"),
        "null_order": _one_of("nulls_last", "nulls last"),
    },
}
"""Settings that change what is modelled: whether a value is what holds anyway."""


def is_indifferent(name: str, product: str) -> bool:
    """Whether a setting decides how something is done, and never what is answered; `product` as a dialect's name."""
    return _INDIFFERENT[product].match(name) is not None


def keeps_meaning(name: str, value: str | None, dialect: Dialect) -> bool:
    """Whether a setting with this value (None: asked for, or set back) leaves what is modelled as it is."""
    name = name.lower()
    if is_indifferent(name, dialect.name):
        return True
    test = _KEPT[dialect.name].get(name)
    return test is not None and (value is None or test(value, dialect))
