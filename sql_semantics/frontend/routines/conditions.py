"""Names of error conditions in handlers, and which errors they are for (PostgreSQL manual, appendix A; MySQL 15.6.7.2).

A name whose code ends in 000 stands for its whole class. Does not know what a handler does.
"""

from __future__ import annotations

from sql_semantics.errors import SchemaError, Unsupported
from sql_semantics.frontend.routines.skeleton import Piece
from sql_semantics.ir.programs import Conditions
from sql_semantics.values.dialect import Dialect
from sql_semantics.values.identifiers import folded_written

_POSTGRES = """
08000=connection_exception 08001=sqlclient_unable_to_establish_sqlconnection 08003=connection_does_not_exist
08004=sqlserver_rejected_establishment_of_sqlconnection 08006=connection_failure 08007=transaction_resolution_unknown
08P01=protocol_violation 0A000=feature_not_supported 10608=invalid_argument_for_xquery 20000=case_not_found
21000=cardinality_violation 22000=data_exception 22001=string_data_right_truncation
22002=null_value_no_indicator_parameter 22003=numeric_value_out_of_range 22004=null_value_not_allowed
22005=error_in_assignment 22007=invalid_datetime_format 22008=datetime_field_overflow
22009=invalid_time_zone_displacement_value 2200B=escape_character_conflict 2200C=invalid_use_of_escape_character
2200D=invalid_escape_octet 2200F=zero_length_character_string 2200G=most_specific_type_mismatch
2200H=sequence_generator_limit_exceeded 2200L=not_an_xml_document 2200M=invalid_xml_document 2200N=invalid_xml_content
2200S=invalid_xml_comment 2200T=invalid_xml_processing_instruction 22010=invalid_indicator_parameter_value
22011=substring_error 22012=division_by_zero 22013=invalid_preceding_or_following_size
22014=invalid_argument_for_ntile_function 22015=interval_field_overflow 22016=invalid_argument_for_nth_value_function
22018=invalid_character_value_for_cast 22019=invalid_escape_character 2201B=invalid_regular_expression
2201E=invalid_argument_for_logarithm 2201F=invalid_argument_for_power_function
2201G=invalid_argument_for_width_bucket_function 2201W=invalid_row_count_in_limit_clause
2201X=invalid_row_count_in_result_offset_clause 22021=character_not_in_repertoire 22022=indicator_overflow
22023=invalid_parameter_value 22025=invalid_escape_sequence 22026=string_data_length_mismatch 22027=trim_error
2202E=array_subscript_error 2202G=invalid_tablesample_repeat 2202H=invalid_tablesample_argument
22030=duplicate_json_object_key_value 22031=invalid_argument_for_sql_json_datetime_function 22032=invalid_json_text
22033=invalid_sql_json_subscript 22034=more_than_one_sql_json_item 22035=no_sql_json_item
22036=non_numeric_sql_json_item 22038=singleton_sql_json_item_required 22039=sql_json_array_not_found
2203A=sql_json_member_not_found 2203B=sql_json_number_not_found 2203C=sql_json_object_not_found
2203D=too_many_json_array_elements 2203E=too_many_json_object_members 2203F=sql_json_scalar_required
2203G=sql_json_item_cannot_be_cast_to_target_type 22P01=floating_point_exception 22P02=invalid_text_representation
22P03=invalid_binary_representation 22P04=bad_copy_file_format 22P05=untranslatable_character
22P06=nonstandard_use_of_escape_character 23000=integrity_constraint_violation 23001=restrict_violation
23502=not_null_violation 23503=foreign_key_violation 23505=unique_violation 23514=check_violation
23P01=exclusion_violation 24000=invalid_cursor_state 25000=invalid_transaction_state 25001=active_sql_transaction
25002=branch_transaction_already_active 25003=inappropriate_access_mode_for_branch_transaction
25004=inappropriate_isolation_level_for_branch_transaction 25005=no_active_sql_transaction_for_branch_transaction
25006=read_only_sql_transaction 25007=schema_and_data_statement_mixing_not_supported
25008=held_cursor_requires_same_isolation_level 25P01=no_active_sql_transaction 25P02=in_failed_sql_transaction
25P03=idle_in_transaction_session_timeout 25P04=transaction_timeout 2D000=invalid_transaction_termination
2F000=sql_routine_exception 2F002=modifying_sql_data_not_permitted 2F003=prohibited_sql_statement_attempted
2F004=reading_sql_data_not_permitted 2F005=function_executed_no_return_statement 34000=invalid_cursor_name
40000=transaction_rollback 40001=serialization_failure 40002=transaction_integrity_constraint_violation
40003=statement_completion_unknown 40P01=deadlock_detected 42000=syntax_error_or_access_rule_violation
42501=insufficient_privilege 42601=syntax_error 42602=invalid_name 42611=invalid_column_definition 42622=name_too_long
42701=duplicate_column 42702=ambiguous_column 42703=undefined_column 42704=undefined_object 42710=duplicate_object
42712=duplicate_alias 42723=duplicate_function 42725=ambiguous_function 42803=grouping_error 42804=datatype_mismatch
42809=wrong_object_type 42830=invalid_foreign_key 42846=cannot_coerce 42883=undefined_function 428C9=generated_always
42939=reserved_name 42P01=undefined_table 42P02=undefined_parameter 42P03=duplicate_cursor 42P04=duplicate_database
42P05=duplicate_prepared_statement 42P06=duplicate_schema 42P07=duplicate_table 42P08=ambiguous_parameter
42P09=ambiguous_alias 42P10=invalid_column_reference 42P11=invalid_cursor_definition 42P12=invalid_database_definition
42P13=invalid_function_definition 42P14=invalid_prepared_statement_definition 42P15=invalid_schema_definition
42P16=invalid_table_definition 42P17=invalid_object_definition 42P18=indeterminate_datatype 42P19=invalid_recursion
42P20=windowing_error 42P21=collation_mismatch 42P22=indeterminate_collation 44000=with_check_option_violation
53000=insufficient_resources 53100=disk_full 53200=out_of_memory 53300=too_many_connections
53400=configuration_limit_exceeded 54000=program_limit_exceeded 54001=statement_too_complex 54011=too_many_columns
54023=too_many_arguments 55000=object_not_in_prerequisite_state 55006=object_in_use 55P02=cant_change_runtime_param
55P03=lock_not_available 55P04=unsafe_new_enum_value_usage 57000=operator_intervention 57014=query_canceled
57P01=admin_shutdown 57P02=crash_shutdown 57P03=cannot_connect_now 57P04=database_dropped 57P05=idle_session_timeout
58000=system_error 58030=io_error 58P01=undefined_file 58P02=duplicate_file 58P03=file_name_too_long
P0000=plpgsql_error P0001=raise_exception P0002=no_data_found P0003=too_many_rows P0004=assert_failure
XX000=internal_error XX001=data_corrupted XX002=index_corrupted
"""
STATES = {name: part[:5] for part in _POSTGRES.split() for name in part[6:].split(",")}
"""PostgreSQL's condition names."""

_NUMBERS = {
    1022: "23000", 1048: "23000", 1062: "23000", 1169: "23000", 1216: "23000", 1217: "23000", 1451: "23000",
    1452: "23000", 1557: "23000", 4025: "23000", 3819: "HY000",
    1172: "42000", 1264: "22003", 1265: "01000", 1325: "24000", 1326: "24000", 1329: "02000", 1339: "20000",
    1365: "22012", 1406: "22001", 1643: "02000", 1644: "45000", 1690: "22003", 1366: "22007", 1242: "21000",
    1136: "21S01", 1205: "HY000", 1213: "40001", 1146: "42S02", 1054: "42S22", 1305: "42000", 1318: "42000",
}  # fmt: skip


def matching(state: str) -> Conditions:
    """The errors that one SQLSTATE in a PL/pgSQL handler is for."""
    if state.endswith("000"):
        return Conditions(classes=frozenset({state[:2]}))
    return Conditions(states=frozenset({state}))


def state_of(name: str) -> str:
    """The SQLSTATE of a PostgreSQL condition name. Raises Unsupported for a name not listed here."""
    found = STATES.get(name.lower())
    if found is None:
        raise Unsupported(f"error condition {name}")
    return found


def checked_state(text: str) -> str:
    """The SQLSTATE inside a string literal. Raises SchemaError for what is none."""
    state = text[1:-1]
    if len(state) != 5 or not state.isalnum() or state == "00000":
        raise SchemaError(f"SQLSTATE {text}")
    return state


def postgres_conditions(piece: Piece) -> Conditions:
    """``WHEN name OR SQLSTATE 'xxxxx' OR OTHERS``."""
    words = piece.words()
    states: set[str] = set()
    classes: set[str] = set()
    others = False
    place = 0
    while place < len(words):
        if words[place] == "SQLSTATE":
            state = checked_state(words[place + 1])
            place += 2
        elif words[place] == "OTHERS":
            others, state = True, ""
            place += 1
        else:
            state = state_of(piece.tokens[place][1])
            place += 1
        if state.endswith("000"):
            classes.add(state[:2])
        elif state:
            states.add(state)
        if place < len(words) and words[place] != "OR":
            raise SchemaError(f"WHEN {piece.text}")
        place += 1
    # OTHERS is for everything but query_canceled and assert_failure.
    return Conditions(frozenset(states), frozenset(classes), frozenset(), others, frozenset({"57014", "P0004"}))


def psm_conditions(pieces: tuple[Piece, ...], named: dict[str, Conditions], dialect: Dialect) -> Conditions:
    """The conditions of ``DECLARE ... HANDLER FOR``; `named` are those of DECLARE ... CONDITION."""
    found = [_psm_condition(piece, named, dialect) for piece in pieces]
    return Conditions(
        frozenset().union(*(item.states for item in found)),
        frozenset().union(*(item.classes for item in found)),
        frozenset().union(*(item.numbers for item in found)),
        any(item.others for item in found),
        frozenset({"00", "01", "02"}),
    )


def _psm_condition(piece: Piece, named: dict[str, Conditions], dialect: Dialect) -> Conditions:
    words = piece.words()
    match words:
        case ["NOT", "FOUND"]:
            return Conditions(classes=frozenset({"02"}))
        case ["SQLEXCEPTION"]:
            return Conditions(others=True)
        case ["SQLWARNING"]:
            raise Unsupported("HANDLER FOR SQLWARNING")
        case ["SQLSTATE", *_]:
            return Conditions(states=frozenset({checked_state(words[-1])}))
        case [number] if number.isdigit():
            return numbered(int(number))
    name = folded_written(piece.text, dialect)
    if name not in named:
        raise SchemaError(f"condition {piece.text} is not declared")
    return named[name]


def numbered(number: int) -> Conditions:
    """The errors with one of MySQL's numbers."""
    if number not in _NUMBERS:
        raise Unsupported(f"error number {number} in a handler")
    return Conditions(numbers=frozenset({number}))
