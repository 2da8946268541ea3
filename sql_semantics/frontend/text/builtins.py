"""The functions that a product brings along, by name: none of them writes to a table of the user's.

PostgreSQL 18's from `pg_proc`, MariaDB 10.11's from `information_schema.sql_functions`, without what runs a text as
SQL. SQLite and DuckDB have functions of expressions only. Does not know what any of them answers.
"""

from __future__ import annotations

from sql_semantics.values.dialect import Dialect


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_POSTGRES = _names(
    """
    abbrev abs acos acosd acosh age any_value area array_agg array_append array_dims array_fill array_length
    array_lower array_ndims array_position array_positions array_prepend array_remove array_replace array_reverse
    array_sample array_shuffle array_sort array_to_json array_to_string array_to_tsvector array_upper ascii asin
    asind asinh atan atan2 atan2d atand atanh avg bit bit_and bit_count bit_length bit_or bit_xor bool bool_and
    bool_or box bpchar broadcast btrim bytea cardinality casefold cast cbrt ceil ceiling center char char_length
    character_length chr cidr circle clock_timestamp coalesce col_description concat concat_ws convert convert_from
    convert_to corr cos cosd cosh cot cotd count covar_pop covar_samp crc32 crc32c cume_dist current_database
    current_query current_schema current_schemas current_setting current_user currval date date_add date_bin
    date_part date_subtract date_trunc datemultirange daterange decode degrees dense_rank diagonal diameter div
    encode enum_first enum_last enum_range erf erfc every exp extract factorial family first_value float4 float8
    floor format format_type gamma gcd gen_random_uuid generate_series generate_subscripts get_bit get_byte
    get_current_ts_config getdatabaseencoding getpgusername greatest grouping hashtext hashtextextended height host
    hostmask inet_client_addr inet_client_port inet_server_addr inet_server_port initcap int2 int4 int4multirange
    int4range int8 int8multirange int8range interval is_normalized isclosed isempty isfinite ishorizontal isopen
    isparallel isperp isvertical json_agg json_agg_strict json_array json_array_elements json_array_elements_text
    json_array_length json_arrayagg json_build_array json_build_object json_each json_each_text json_exists
    json_extract_path json_extract_path_text json_object json_object_agg json_object_agg_strict
    json_object_agg_unique json_object_agg_unique_strict json_object_keys json_objectagg json_populate_record
    json_populate_recordset json_query json_scalar json_serialize json_strip_nulls json_table json_to_record
    json_to_recordset json_to_tsvector json_typeof json_value jsonb_agg jsonb_agg_strict jsonb_array_elements
    jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text
    jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg jsonb_object_agg_strict
    jsonb_object_agg_unique jsonb_object_agg_unique_strict jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz
    jsonb_path_match jsonb_path_match_tz jsonb_path_query jsonb_path_query_array jsonb_path_query_array_tz
    jsonb_path_query_first jsonb_path_query_first_tz jsonb_path_query_tz jsonb_populate_record
    jsonb_populate_record_valid jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax jsonb_strip_nulls
    jsonb_to_record jsonb_to_recordset jsonb_to_tsvector jsonb_typeof justify_days justify_hours justify_interval
    lag last_value lastval lcm lead least left length lgamma line ln log log10 lower lower_inc lower_inf lpad lseg
    ltrim macaddr macaddr8 macaddr8_set7bit make_date make_interval make_time make_timestamp make_timestamptz
    masklen max md5 min min_scale mod mode money multirange name netmask network nextval normalize now npoints
    nth_value ntile nullif num_nonnulls num_nulls numeric nummultirange numnode numrange obj_description
    octet_length oid overlaps overlay parse_ident path percent_rank percentile_cont percentile_disc phraseto_tsquery
    pi plainto_tsquery point polygon position pow power querytree quote_ident quote_literal quote_nullable radians
    radius random random_normal range_agg range_intersect_agg range_merge rank regclass regr_avgx regr_avgy
    regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right round row
    row_number row_security_active row_to_json rpad rtrim scale session_user set_bit set_byte set_config set_masklen
    setseed setweight sha224 sha256 sha384 sha512 shobj_description sign similar_escape similar_to_escape sin sind
    sinh slope split_part sqrt statement_timestamp stddev stddev_pop stddev_samp string_agg string_to_array
    string_to_table strip strpos substr substring sum system_user tan tand tanh text textlen tidlarger tidsmaller
    time timeofday timestamp timestamptz timetz timezone to_ascii to_bin to_char to_date to_hex to_json to_jsonb
    to_number to_oct to_regclass to_regcollation to_regnamespace to_regoper to_regoperator to_regproc
    to_regprocedure to_regrole to_regtype to_regtypemod to_timestamp to_tsquery to_tsvector transaction_timestamp
    translate treat trim trim_array trim_scale trunc ts_debug ts_delete ts_filter ts_headline ts_lexize ts_parse
    ts_rank ts_rank_cd ts_token_type tsmultirange tsquery_phrase tsrange tstzmultirange tstzrange tsvector_to_array
    txid_current txid_current_if_assigned txid_current_snapshot txid_snapshot_xip txid_snapshot_xmax
    txid_snapshot_xmin txid_status txid_visible_in_snapshot unicode_assigned unicode_version unistr unnest upper
    upper_inc upper_inf uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7 var_pop var_samp varbit varchar
    variance version websearch_to_tsquery width width_bucket xid xml xml_is_well_formed xml_is_well_formed_content
    xml_is_well_formed_document xmlagg xmlcomment xmlconcat xmlconcat2 xmlelement xmlexists xmlforest xmltable
    xmltext xmlvalidate xpath xpath_exists
    """
)
_MYSQL = _names(
    """
    abs acos add_months adddate addtime aes_decrypt aes_encrypt any_value asin atan atan2 avg benchmark bin
    bin_to_uuid binlog_gtid_pos bit_and bit_count bit_length bit_or bit_xor cast ceil ceiling char char_length
    character_length chr coalesce coercibility collation column_check column_exists column_json column_list compress
    concat concat_operator_oracle concat_ws connection_id conv convert convert_tz cos cot count crc32 crc32c
    cume_dist curdate current_date current_time current_timestamp current_user curtime database date date_add
    date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear decode decode_histogram decode_oracle
    degrees dense_rank des_decrypt des_encrypt elt encode encrypt exp export_set extract extractvalue field
    find_in_set first_value floor format found_rows from_base64 from_days from_unixtime get_lock greatest
    group_concat grouping hex hour if ifnull inet6_aton inet6_ntoa inet_aton inet_ntoa insert instr interval
    is_free_lock is_ipv4 is_ipv4_compat is_ipv4_mapped is_ipv6 is_used_lock isnull json_array json_array_append
    json_array_insert json_arrayagg json_compact json_contains json_contains_path json_depth json_detailed
    json_equals json_exists json_extract json_insert json_keys json_length json_loose json_merge json_merge_patch
    json_merge_preserve json_normalize json_object json_objectagg json_overlaps json_pretty json_query json_quote
    json_remove json_replace json_search json_set json_storage_size json_table json_type json_unquote json_valid
    json_value lag last_day last_insert_id lcase lead least left length lengthb linestring ln localtime
    localtimestamp locate log log10 log2 lower lpad lpad_oracle ltrim ltrim_oracle make_set makedate maketime
    master_gtid_wait master_pos_wait max md5 median microsecond mid min minute mod month monthname name_const
    natural_sort_key now nth_value ntile nullif nvl nvl2 oct octet_length old_password ord password percent_rank
    percentile_cont percentile_disc period_add period_diff pi point polygon position pow power quarter quote radians
    rand random_bytes rank regexp_instr regexp_like regexp_replace regexp_substr release_all_locks release_lock
    repeat replace replace_oracle reverse right round row_count row_number rpad rpad_oracle rtrim rtrim_oracle
    schema schemas sec_to_time second session_user sformat sha sha1 sha2 sign sin sleep soundex space sqrt std
    stddev stddev_pop stddev_samp str_to_date strcmp subdate substr substr_oracle substring substring_index subtime
    sum sys_guid sysdate system_user tan time time_format time_to_sec timediff timestamp to_base64 to_char to_days
    to_seconds trim trim_oracle truncate ucase uncompress uncompressed_length unhex unix_timestamp updatexml upper
    user utc_date utc_time utc_timestamp uuid uuid_short uuid_to_bin values var_pop var_samp variance version week
    weekday weekofyear wsrep_last_seen_gtid wsrep_last_written_gtid wsrep_sync_wait_upto_gtid year yearweek
    """
)
_NAMES = {"postgres": _POSTGRES, "mysql": _MYSQL}
_FAMILIES = {
    "postgres": ("pg_", "st_", "current_", "regexp_", "string_", "to_", "ts_", "jsonb_", "json_"),
    "mysql": ("st_",),
}
"""Names that begin so are the product's, or PostGIS's, which writes nothing either."""
_RUN_TEXTS = ("pg_logical_", "pg_replication_", "pg_restore_", "pg_import_")
_EXCEPTIONS = frozenset({"ts_stat", "ts_rewrite"})


def is_builtin(name: str, dialect: Dialect) -> bool:
    """Whether a function of that name, in any case, is one of the product's own, and writes to no table."""
    name = name.lower()
    if not dialect.rules.text.builtins_may_write:
        return True
    if name in _EXCEPTIONS or name.startswith(_RUN_TEXTS):
        return False
    return name in _NAMES[dialect.name] or name.startswith(_FAMILIES[dialect.name])
