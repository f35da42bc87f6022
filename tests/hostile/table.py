"""Hostile files and the expected result of each, made by hand: a Matrix of exact values, or a status, the line at fault and
a part of the message. `stream` is the result for a stream, which cannot know the input's length."""

NAN, INF = float("nan"), float("inf")
B = b"%%MatrixMarket matrix "
G = B + b"coordinate real general\n"
P = B + b"coordinate pattern general\n"
S = B + b"coordinate real symmetric\n"
K = B + b"coordinate real skew-symmetric\n"
I = B + b"coordinate integer general\n"
A = B + b"array real general\n"
ONE = G + b"1 1 1\n1 1 "  # followed by a value
WINDOW = 262144  # bytes of the reader's window, the limit of a line


class Good:
    def __init__(self, rows, cols, entries, pattern=False):
        self.rows, self.cols, self.entries, self.pattern = rows, cols, entries, pattern


class Bad:
    def __init__(self, line, word, status="INVALID_FILE", stream=None):
        self.line, self.word, self.status, self.stream = line, word, status, stream


def value(number):
    return Good(1, 1, {(1, 1): number})


def too_many(line, stream_line, stream_word):
    """More entries than the rest of the file can hold; a stream reads to its end."""
    return Bad(line, "cannot be in the", stream=Bad(stream_line, stream_word))


CASES = [
    # ---- The banner ------------------------------------------------------------------------------
    ("empty", b"", Bad(1, "the input is empty")),
    ("one_newline", b"\n", Bad(1, "expected a banner")),
    ("blank_line_first", b"\n" + G + b"1 1 0\n", Bad(1, "expected a banner")),
    ("blank_before_banner", b" " + G + b"1 1 0\n", Bad(1, "expected a banner")),
    ("one_percent", G[1:] + b"1 1 0\n", Bad(1, "expected a banner")),
    ("comment_before_banner", b"% x\n" + G + b"1 1 0\n", Bad(1, '"% x"')),
    ("only_mark", b"\xef\xbb\xbf", Bad(1, "expected a banner")),
    ("byte_order_mark", b"\xef\xbb\xbf" + ONE + b"2\n", value(2)),
    ("two_byte_order_marks", b"\xef\xbb\xbf\xef\xbb\xbf" + ONE + b"2\n", Bad(1, "\\xef\\xbb\\xbf")),
    ("utf16", (G + b"1 1 0\n").decode().encode("utf-16"), Bad(1, "zero byte")),
    ("upper_case", G.upper() + b"1 1 1\n1 1 2\n", value(2)),
    ("mixed_case", b"%%mAtRiXmArKeT\tMatrix  COORDINATE Real\x0bGeneral \t\r\n1 1 1\n1 1 2\n", value(2)),
    ("crlf", (ONE + b"2\n% c\n\n").replace(b"\n", b"\r\n"), value(2)),
    ("lone_cr", (ONE + b"2\n").replace(b"\n", b"\r"), Bad(1, "follows the symmetry")),
    ("lone_cr_in_data", G + b"1 1 1\n1 1 2\r1 1 2\n", Bad(3, '"1 1 2" follows the entry')),
    ("unknown_object", b"%%MatrixMarket vector coordinate real general\n1 1 0\n", Bad(1, 'the object is "vector"')),
    ("unknown_format", B + b"dense real general\n1 1\n1\n", Bad(1, 'the format is "dense"')),
    ("unknown_field", B + b"coordinate double general\n1 1 0\n", Bad(1, 'the field is "double"')),
    ("unsigned", B + b"coordinate unsigned-integer general\n1 1 1\n1 1 2\n", value(2)),
    ("unsigned_fraction", B + b"coordinate unsigned-integer general\n1 1 1\n1 1 2.5\n", Bad(3, "not an integer")),
    ("unknown_symmetry", B + b"coordinate real diagonal\n1 1 0\n", Bad(1, 'the symmetry is "diagonal"')),
    ("complex", B + b"coordinate complex general\n1 1 1\n1 1 1 0\n", Bad(1, "complex", "NOT_SUPPORTED")),
    ("complex_and_wrong", B + b"coordinate complex genral\n1 1 0\n", Bad(1, 'the symmetry is "genral"')),
    ("no_symmetry", B + b"coordinate real\n1 1 0\n", Bad(1, "ends before its symmetry")),
    ("banner_alone", b"%%MatrixMarket", Bad(1, "ends before its object")),
    ("fifth_word", B + b"coordinate real general sorted\n1 1 0\n", Bad(1, '"sorted" follows the symmetry')),
    ("glued_banner", b"%%MatrixMarketmatrix coordinate real general\n1 1 0\n", Bad(1, "expected a banner")),
    ("array_pattern", B + b"array pattern general\n1 1\n", Bad(1, "cannot be a pattern")),
    ("pattern_skew", B + b"coordinate pattern skew-symmetric\n1 1 0\n", Bad(1, "general or symmetric")),
    ("pattern_hermitian", B + b"coordinate pattern hermitian\n1 1 0\n", Bad(1, "general or symmetric")),
    ("hermitian_real", B + b"coordinate real hermitian\n2 2 2\n2 1 5\n2 2 1\n",
     Good(2, 2, {(1, 2): 5, (2, 1): 5, (2, 2): 1})),
    ("hermitian_integer_array", B + b"array integer hermitian\n2 2\n1\n2\n3\n",
     Good(2, 2, {(1, 1): 1, (1, 2): 2, (2, 1): 2, (2, 2): 3})),
    ("long_banner", B + b"coordinate real general" + b" " * WINDOW + b"\n1 1 0\n", Bad(1, "longer than")),
    ("long_first_comment", b"%" * WINDOW + b"\n1 1 0\n", Bad(1, "longer than")),
    ("gzip", b"\x1f\x8b\x08\0\0\0\0\0", Bad(1, "gzip")),
    ("bzip2", b"BZh91AY&SY", Bad(1, "bzip2")),
    ("xz", b"\xfd7zXZ\0", Bad(1, "xz")),
    ("zstd", b"\x28\xb5\x2f\xfd\x04", Bad(1, "zstd")),
    ("zip", b"PK\x03\x04\x14\0", Bad(1, "zip")),
    # ---- The size line ---------------------------------------------------------------------------
    ("no_size_line", G, Bad(2, "ends early, before its size line")),
    ("banner_without_newline", G[:-1], Bad(2, "ends early, before its size line")),
    ("only_comments", G + b"% a\n\n \t\n%b", Bad(6, "ends early, before its size line")),
    ("one_size", G + b"3\n", Bad(2, "ends before the number of columns")),
    ("two_sizes", G + b"3 3\n", Bad(2, "ends before the number of entries")),
    ("sizes_on_two_lines", G + b"3 3\n0\n", Bad(2, "ends before the number of entries")),
    ("four_sizes", G + b"3 3 0 0\n", Bad(2, '"0" follows the sizes')),
    ("comment_behind_sizes", G + b"3 3 0 % none\n", Bad(2, "follows the sizes")),
    ("array_three_sizes", A + b"1 1 1\n1\n", Bad(2, '"1" follows the sizes')),
    ("negative_rows", G + b"-1 1 0\n", Bad(2, '"-1" is not a number of rows')),
    ("negative_zero_rows", G + b"-0 1 0\n", Bad(2, '"-0" is not a number of rows')),
    ("real_columns", G + b"1 1.0 0\n", Bad(2, '"1.0" is not a number of columns')),
    ("exponent_entries", G + b"1 1 1e0\n1 1 1\n", Bad(2, '"1e0" is not a number of entries')),
    ("hexadecimal_rows", G + b"0x1 1 0\n", Bad(2, '"0x1" is not a number of rows')),
    ("comma_between_sizes", G + b"1, 1, 0\n", Bad(2, '"1," is not a number of rows')),
    ("plus_sizes", G + b"+1 +01 +0000000000000000000000000001\n+1 +01 +2\n", value(2)),
    ("two_pluses", G + b"++1 1 0\n", Bad(2, '"++1" is not a number of rows')),
    ("lone_plus", G + b"+ 1 1 0\n", Bad(2, '"+" is not a number of rows')),
    ("rows_2_64_plus_1", G + b"18446744073709551617 1 0\n", Bad(2, "too large a number of rows", "TOO_LARGE")),
    ("columns_2_64_plus_1", G + b"1 18446744073709551617 0\n", Bad(2, "too large a number of columns", "TOO_LARGE")),
    ("entries_2_64", G + b"1 1 18446744073709551616\n", Bad(2, "too large a number of entries", "TOO_LARGE")),
    ("rows_2_63", G + b"9223372036854775808 1 0\n", Bad(2, "too large", "TOO_LARGE")),
    ("rows_of_19_digits", G + b"1000000000000000000 1 0\n", Bad(2, "too large", "TOO_LARGE")),
    ("rows_of_18_digits", G + b"999999999999999999 1 0\n", Bad(2, "exceed the limit of", "TOO_LARGE")),
    ("too_large_and_wrong", G + b"99999999999999999999 x 0\n", Bad(2, "too large a number of rows", "TOO_LARGE")),
    ("columns_2_31", G + b"1 2147483648 0\n", Bad(2, "2147483648 columns", "TOO_LARGE")),
    ("columns_2_31_minus_1", G + b"1 2147483647 1\n1 2147483647 3\n", Good(1, 2147483647, {(1, 2147483647): 3})),
    ("many_rows_for_nothing", G + b"1100000 1 0\n", Bad(2, "set max_rows", "TOO_LARGE")),
    ("as_many_rows_as_allowed", (G + b"1112576 1 0\n%").ljust(1000, b"c"), Good(1112576, 1, {})),
    ("one_row_more", (G + b"1112577 1 0\n%").ljust(1000, b"c"), Bad(2, "the limit of 1112576", "TOO_LARGE")),
    ("symmetric_not_square", S + b"2 3 0\n", Bad(2, "only square")),
    ("skew_not_square", K + b"3 2 0\n", Bad(2, "only square")),
    ("symmetric_array_not_square", B + b"array real symmetric\n2 1\n1\n1\n", Bad(2, "only square")),
    ("array_2_32_squared", A + b"4294967296 4294967296\n1\n", Bad(2, "4294967296 columns", "TOO_LARGE")),
    ("array_2_32_rows", A + b"4294967296 4\n1\n", Bad(2, "rows exceed", "TOO_LARGE", Bad(4, "after 1 of 17179869184"))),
    ("array_2_31_symmetric", B + b"array real symmetric\n2147483647 2147483647\n1\n",
     Bad(2, "rows exceed", "TOO_LARGE", Bad(4, "after 1 of 2305843008139952128"))),
    ("array_10_6_squared", A + b"1000000 1000000\n1\n", too_many(2, 4, "after 1 of 1000000000000")),
    ("array_overflowing", A + b"999999999999999999 2147483647\n1\n",
     Bad(2, "rows exceed", "TOO_LARGE", Bad(4, "after 1 of 9223372036854775807"))),
    ("array_too_long", A + b"100000 100000\n1 \n", too_many(2, 4, "after 1 of")),
    ("entries_10_17", G + b"9 9 100000000000000000\n1 1 1\n", too_many(2, 4, "after 1 of 100000000000000000")),
    ("entry_without_value", G + b"2 2 1\n1 1\n", Bad(3, '"1 1" has no value')),
    ("entries_without_values", G + b"2 2 2\n1 1\n2 2", Bad(3, '"1 1" has no value')),
    ("one_entry_too_many", G + b"9 9 2\n1 1 1\n", too_many(2, 4, "after 1 of 2")),
    ("shortest_entries", G + b"9 9 2\n1 1 1\n2 2 2", Good(9, 9, {(1, 1): 1, (2, 2): 2})),
    ("pattern_just_too_short", P + b"9 9 2\n1 1\n2 ", too_many(2, 4, "has no column index")),
    ("pattern_short", P + b"9 9 2\n1 1\n2  ", Bad(4, "has no column index")),
    ("no_rows", G + b"0 0 0\n", Good(0, 0, {})),
    ("no_columns", P + b"3 0 0", Good(3, 0, {}, True)),
    ("no_rows_but_an_entry", G + b"0 1 1\n1 1 1\n", Bad(3, "row index 1 exceeds the 0 rows")),
    ("array_no_rows", A + b"0 7\n", Good(0, 7, {})),
    ("array_no_rows_but_a_value", A + b"0 7\n1\n", Bad(3, "follows the last of 0 entries")),
    ("skew_array_of_one", B + b"array real skew-symmetric\n1 1\n", Good(1, 1, {})),
    ("skew_array_of_none", B + b"array real skew-symmetric\n0 0\n", Good(0, 0, {})),
    # ---- Entries ---------------------------------------------------------------------------------
    ("row_0", G + b"3 3 1\n0 1 1\n", Bad(3, "row index 0; indices begin with 1")),
    ("column_0", G + b"3 3 1\n1 000 1\n", Bad(3, "column index 0")),
    ("row_n_plus_1", G + b"3 4 1\n4 1 1\n", Bad(3, "row index 4 exceeds the 3 rows")),
    ("column_n_plus_1", G + b"4 3 1\n1 4 1\n", Bad(3, "column index 4 exceeds the 3 columns")),
    ("row_2_32_plus_1", G + b"3 3 1\n4294967297 1 1\n", Bad(3, "exceeds")),
    ("column_2_64_plus_1", G + b"3 3 1\n1 18446744073709551617 1\n", Bad(3, "18446744073709551617 exceeds")),
    ("row_2_64_plus_1_padded", G + b"3 3 1\n000000000000018446744073709551617 1 1\n", Bad(3, "exceeds")),
    ("row_of_many_zeros", G + b"3 3 1\n" + b"0" * 50 + b"3 1 1\n", Good(3, 3, {(3, 1): 1})),
    ("negative_index", G + b"3 3 1\n1 -1 1\n", Bad(3, '"-1" is not a column index')),
    ("real_index", G + b"3 3 1\n1. 1 1\n", Bad(3, '"1." is not a row index')),
    ("glued_indices", G + b"3 3 1\n1+1 1\n", Bad(3, '"1+1" is not a row index')),
    ("commas_between", G + b"3 3 1\n1,1,1.5\n", Bad(3, '"1,1,1.5" is not a row index')),
    ("semicolon", G + b"3 3 1\n1 1;1.5\n", Bad(3, '"1;1.5" is not a column index')),
    ("row_only", G + b"3 3 1\n1       \n", Bad(3, "has no column index")),
    ("no_value", G + b"3 3 1\n1 1     \n", Bad(3, "has no value")),
    ("value_on_next_line", G + b"3 3 1\n1 1\n1\n", Bad(3, "has no value")),
    ("pattern_with_values", P + b"3 3 1\n1 1 1\n", Bad(3, '"1" follows the entry')),
    ("complex_entry", G + b"3 3 1\n1 1 1 0\n", Bad(3, '"0" follows the entry')),
    ("comment_behind_entry", G + b"3 3 1\n1 1 1 % one\n", Bad(3, '"% one" follows the entry')),
    ("comment_glued", G + b"3 3 1\n1 1 1%\n", Bad(3, '"1%" is not a number')),
    ("above_the_diagonal", S + b"3 3 3\n1 1 4\n1 2 1\n2 3 5\n",
     Good(3, 3, {(1, 1): 4, (1, 2): 1, (2, 1): 1, (2, 3): 5, (3, 2): 5})),
    ("both_sides", S + b"3 3 3\n2 2 1\n1 2 1\n2 1 1\n", Bad(5, "(2, 1) is below the diagonal and earlier")),
    ("other_sides", S + b"3 3 2\n2 1 1\n1 3 1\n", Bad(4, "(1, 3) is above the diagonal and earlier")),
    ("skew_above", K + b"3 3 1\n1 2 1\n", Good(3, 3, {(1, 2): 1, (2, 1): -1})),
    ("skew_with_a_diagonal", K + b"3 3 2\n2 1 1\n2 2 0\n", Bad(4, "(2, 2) is on the diagonal")),
    ("extra_entry", G + b"3 3 1\n1 1 1\n\n% c\n2 2 2\n", Bad(6, '"2 2 2" follows the last of 1 entries')),
    ("extra_garbage", G + b"3 3 0\n@", Bad(3, '"@" follows the last of 0 entries')),
    ("entry_missing", G + b"3 3 2\n1 1 1\n% and no more\n%%%%%%\n", Bad(6, "after 1 of 2 entries")),
    ("array_entry_missing", A + b"2 2\n1\n2\n3\n%\n%", Bad(8, "after 3 of 4 entries")),
    ("array_values_in_a_line", A + b"2 2\n1 2\n3 4\n", Bad(3, '"2" follows the entry')),
    ("array_extra", A + b"1 2\n1\n2\n3\n", Bad(5, '"3" follows the last of 2 entries')),
    ("no_last_newline", ONE + b"2", value(2)),
    ("blanks_at_the_end", ONE + b"2 \t\r\n \t\v\f\r\n\n  ", value(2)),
    ("comments_everywhere", G + b"%\n\n  % indented\n \t\n 2\t2 \v2 \n%between 1 1 1\n\n1\f1 1e0 \n%\n%\n2 2 2\n%end",
     Good(2, 2, {(1, 1): 1, (2, 2): 2})),
    ("comments_that_lie", G + b"%%MatrixMarket matrix array real general\n%%GraphBLAS type bool\n1 1 1\n1 1 2\n", value(2)),
    ("slashes_are_no_comment", G + b"// x\n1 1 0\n", Bad(2, '"//" is not a number of rows')),
    ("hash_is_no_comment", G + b"1 1 1\n# x\n1 1 1\n", Bad(3, '"#" is not a row index')),
    ("form_feed_line", G + b"1 1 1\n\f\n1 1 2\n", value(2)),
    ("no_break_space", G + b"1 1 1\n1\xa01 2\n", Bad(3, "\\xa0")),
    ("unicode_digit", G + b"1 1 1\n\xd9\xa1 1 2\n", Bad(3, "is not a row index")),
    ("vertical_line_separator", G + b"1 1 1\x851 1 2\n", Bad(2, "is not a number of entries")),
    ("control_z", ONE + b"2\n\x1a", Bad(4, "\\x1a")),
    # ---- Zero bytes and lengths --------------------------------------------------------------------
    ("zero_in_banner", G[:20] + b"\0" + G[20:] + b"1 1 0\n", Bad(1, "zero byte")),
    ("zero_in_comment", G + b"% a\0b\n1 1 1\n1 1 2\n", Bad(2, "zero byte")),
    ("zero_in_entry", G + b"2 2 1\n1 1\0 1\n% as long as it takes\n", Bad(3, "zero byte")),
    ("zero_at_the_end", ONE + b"2\n\0", Bad(4, "zero byte")),
    ("a_megabyte_of_zeros", ONE + b"2\n" + b"\0" * 1000000, Bad(4, "zero byte")),
    ("a_megabyte_of_comment", G + b"%" + b"x" * 1000000 + b"\n1 1 1\n1 1 2\n%" + b"y" * 1000000, value(2)),
    ("comment_of_a_window", G + b"%" + b"x" * (WINDOW - 1) + b"\n1 1 1\n1 1 2\n", value(2)),
    ("comment_one_less", G + b"%" + b"x" * (WINDOW - 2) + b"\n1 1 1\n1 1 2\n", value(2)),
    ("comment_ends_the_input", G + b"1 1 1\n%" + b"x" * (3 * WINDOW - 1), Bad(4, "after 0 of 1 entries")),
    ("long_comment_then_fault", G + b"%" + b"x" * (3 * WINDOW + 5) + b"\n1 1 1\n%\n1 1 x\n", Bad(5, '"x" is not')),
    ("zero_in_long_comment", G + b"%" + b"x" * (2 * WINDOW) + b"\0\n1 1 1\n1 1 2\n", Bad(2, "zero byte")),
    ("blanks_before_long_comment", G + b" " * 200000 + b"%" + b"x" * 200000 + b"\n1 1 1\n1 1 2\n", value(2)),
    ("a_window_of_blanks", G + b" " * WINDOW + b"\n1 1 1\n1 1 2\n", Bad(2, "longer than")),
    ("blanks_one_less", G + b" " * (WINDOW - 1) + b"\n1 1 1\n1 1 2\n", value(2)),
    ("entry_of_a_window", G + b"1 1 1\n1 1 " + b"0" * (WINDOW - 5) + b"2\n", Bad(3, "longer than")),
    ("entry_one_less", G + b"1 1 1\n1 1 " + b"0" * (WINDOW - 6) + b"2\n", value(2)),
    ("last_line_of_a_window", G + b"1 1 1\n1 1 " + b"0" * (WINDOW - 5) + b"2", Bad(3, "longer than")),
    ("a_million_newlines", G + b"\n" * 1000000 + b"1 1 1\n1 1 2\n", value(2)),
    ("a_million_blank_lines_then_fault", G + b" \n" * 500000 + b"1 1 1\n1 1 _\n", Bad(500003, '"_" is not a number')),
    # ---- Values ----------------------------------------------------------------------------------
    ("fortran_exponent", ONE + b"1.5D+03\n", value(1500)),
    ("fortran_small_d", ONE + b"-1.5d-1\n", value(-0.15)),
    ("fortran_without_letter", ONE + b"1.5+03\n", Bad(3, '"1.5+03" is not a number')),
    ("fortran_q", ONE + b"1.5Q+03\n", Bad(3, '"1.5Q+03" is not a number')),
    ("decimal_comma", ONE + b"1,5\n", Bad(3, '"1,5" is not a number')),
    ("thousands", ONE + b"1,000.5\n", Bad(3, '"1,000.5" is not a number')),
    ("exponent_without_digits", ONE + b"1e\n", Bad(3, '"1e" is not a number')),
    ("exponent_sign_only", ONE + b"1e+\n", Bad(3, '"1e+" is not a number')),
    ("exponent_with_point", ONE + b"1e1.0\n", Bad(3, '"1e1.0" is not a number')),
    ("two_points", ONE + b"1.2.3\n", Bad(3, '"1.2.3" is not a number')),
    ("lone_point", ONE + b".\n", Bad(3, '"." is not a number')),
    ("lone_sign", ONE + b"-\n", Bad(3, '"-" is not a number')),
    ("sign_apart", ONE + b"- 1\n", Bad(3, '"-" is not a number')),
    ("two_signs", ONE + b"+-1\n", Bad(3, '"+-1" is not a number')),
    ("point_first", ONE + b"-.5\n", value(-0.5)),
    ("point_last", ONE + b"+5.\n", value(5)),
    ("point_before_exponent", ONE + b"5.e1\n", value(50)),
    ("hexadecimal_float", ONE + b"0x1.8p1\n", Bad(3, '"0x1.8p1" is not a number')),
    ("microsoft_infinity", ONE + b"1.#INF\n", Bad(3, '"1.#INF" is not a number')),
    ("microsoft_nan", ONE + b"-1.#IND\n", Bad(3, '"-1.#IND" is not a number')),
    ("nan", ONE + b"NaN\n", value(NAN)),
    ("minus_nan", ONE + b"-nan\n", value(NAN)),
    ("nan_with_payload", ONE + b"nan(0x1)\n", Bad(3, '"nan(0x1)" is not a number')),
    ("infinities", G + b"1 3 3\n1 1 inf\n1 2 -INF\n1 3 +Infinity\n", Good(1, 3, {(1, 1): INF, (1, 2): -INF, (1, 3): INF})),
    ("infinite", ONE + b"infinite\n", Bad(3, '"infinite" is not a number')),
    ("true", ONE + b"true\n", Bad(3, '"true" is not a number')),
    ("dollar", ONE + b"$1\n", Bad(3, '"$1" is not a number')),
    ("suffix", ONE + b"1f\n", Bad(3, '"1f" is not a number')),
    ("underscores", ONE + b"1_000\n", Bad(3, '"1_000" is not a number')),
    ("largest", ONE + b"1.7976931348623157e308\n", value(float.fromhex("0x1.fffffffffffffp1023"))),
    ("largest_just_below_halfway", ONE + b"1.797693134862315807e308\n", value(float.fromhex("0x1.fffffffffffffp1023"))),
    ("halfway_to_infinity", ONE + b"1.797693134862315808e308\n", Bad(3, "is beyond the range of f64")),
    ("overflow", ONE + b"-1e309\n", Bad(3, '"-1e309" is beyond the range of f64')),
    ("overflow_by_far", ONE + b"1e99999999999999999999999999\n", Bad(3, "is beyond the range of f64")),
    ("overflow_by_digits", ONE + b"1" + b"0" * 400 + b"\n", Bad(3, "is beyond the range of f64")),
    ("zero_times_anything", ONE + b"0e99999999999999999999\n", value(0.0)),
    ("minus_zero", ONE + b"-0.000\n", value(-0.0)),
    ("underflow", ONE + b"1e-99999999999999999999999999\n", value(0.0)),
    ("underflow_to_minus_zero", ONE + b"-1e-400\n", value(-0.0)),
    ("least_subnormal", ONE + b"4.9e-324\n", value(float.fromhex("0x1p-1074"))),
    ("half_of_the_least", ONE + b"2.4703282292062327e-324\n", value(0.0)),
    ("above_half_of_the_least", ONE + b"2.4703282292062328e-324\n", value(float.fromhex("0x1p-1074"))),
    ("largest_subnormal", ONE + b"2.2250738585072011e-308\n", value(float.fromhex("0x0.fffffffffffffp-1022"))),
    ("least_normal", ONE + b"2.2250738585072012e-308\n", value(float.fromhex("0x1p-1022"))),
    ("tie_to_even", ONE + b"9007199254740993\n", value(9007199254740992.0)),
    ("above_the_tie", ONE + b"9007199254740993." + b"0" * 800 + b"1\n", value(9007199254740994.0)),
    ("digits_beyond_the_longest_tie", ONE + b"9007199254740993" + b"0" * 5000 + b"1e-5001\n", value(9007199254740994.0)),
    ("tie_of_fifty_four_bits", ONE + b"9007199254740993625e-4\n", value(900719925474099.4)),
    ("tie_of_one_digit", ONE + b"1e23\n", value(float.fromhex("0x1.52d02c7e14af6p+76"))),
    ("just_above_a_tie_of_singles", ONE + b"1.0000000596046447754\n", value(float.fromhex("0x1.000001p0"))),
    ("just_below_the_range_of_singles", ONE + b"3.4028235677973366e38\n", value(float.fromhex("0x1.ffffff0000000p127"))),
    ("least_single", ONE + b"7.0064923216240854e-46\n", value(float.fromhex("0x1.0000000000000p-150"))),
    ("a_long_tie", ONE + b"1" + b"0" * 200000 + b"e-200000\n", value(1)),
    ("long_fraction", ONE + b"0." + b"0" * 200000 + b"25e200001\n", value(2.5)),
    ("integer_2_63", I + b"1 1 1\n1 1 9223372036854775808\n", value(2.0**63)),
    ("integer_beyond_2_64", I + b"1 1 1\n1 1 -36893488147419103233\n", value(-(2.0**65))),
    ("integer_beyond_range", I + b"1 1 1\n1 1 " + b"9" * 309 + b"\n", Bad(3, "is beyond the range")),
    ("integer_with_point", I + b"1 1 1\n1 1 1.0\n", Bad(3, '"1.0" is not an integer')),
    ("integer_with_exponent", I + b"1 1 1\n1 1 1e3\n", Bad(3, '"1e3" is not an integer')),
    ("integer_nan", I + b"1 1 1\n1 1 nan\n", value(NAN)),
    # ---- What it means ---------------------------------------------------------------------------
    ("duplicates_in_file_order", G + b"1 1 3\n1 1 1e16\n1 1 1\n1 1 -1e16\n", value(0.0)),
    ("duplicates_in_another", G + b"1 1 3\n1 1 1e16\n1 1 -1e16\n1 1 1\n", value(1)),
    ("duplicates_overflow", G + b"1 1 2\n1 1 1.7e308\n1 1 1.7e308\n", value(INF)),
    ("duplicates_of_infinities", G + b"1 1 2\n1 1 inf\n1 1 -inf\n", value(NAN)),
    ("zeros_of_both_signs", G + b"1 2 3\n1 1 -0\n1 1 0\n1 2 -0\n", Good(1, 2, {(1, 1): 0.0, (1, 2): -0.0})),
    ("pattern", P + b"2 2 2\n2 1\n1 2\n", Good(2, 2, {(1, 2): 1, (2, 1): 1}, True)),
    ("pattern_with_duplicates", P + b"2 2 3\n2 1\n1 2\n2 1\n", Good(2, 2, {(1, 2): 1, (2, 1): 2})),
    ("symmetric_pattern", B + b"coordinate pattern symmetric\n2 2 2\n2 1\n2 2\n",
     Good(2, 2, {(1, 2): 1, (2, 1): 1, (2, 2): 1}, True)),
    ("symmetric_duplicates", S + b"2 2 3\n2 1 1\n2 1 2\n1 1 4\n", Good(2, 2, {(1, 1): 4, (1, 2): 3, (2, 1): 3})),
    ("skew", K + b"2 2 1\n2 1 3\n", Good(2, 2, {(1, 2): -3, (2, 1): 3})),
    ("skew_zero", K + b"2 2 1\n2 1 0\n", Good(2, 2, {(1, 2): -0.0, (2, 1): 0.0})),
    ("skew_infinity", K + b"2 2 1\n2 1 -inf\n", Good(2, 2, {(1, 2): INF, (2, 1): -INF})),
    ("array_down_the_columns", A + b"2 3\n1\n2\n3\n4\n5\n6\n",
     Good(2, 3, {(1, 1): 1, (2, 1): 2, (1, 2): 3, (2, 2): 4, (1, 3): 5, (2, 3): 6})),
    ("array_keeps_zeros", A + b"1 2\n0\n-0\n", Good(1, 2, {(1, 1): 0.0, (1, 2): -0.0})),
    ("array_symmetric", B + b"array real symmetric\n2 2\n1\n2\n3\n",
     Good(2, 2, {(1, 1): 1, (1, 2): 2, (2, 1): 2, (2, 2): 3})),
    ("array_skew", B + b"array real skew-symmetric\n3 3\n1\n2\n3\n",
     Good(3, 3, {(2, 1): 1, (3, 1): 2, (3, 2): 3, (1, 2): -1, (1, 3): -2, (2, 3): -3})),
]

# More entries than a stream's first arrays hold; the odd one on the diagonal makes the mirror images straddle their end.
GROWN_PLACES = [(1, 1)] + [(row, col) for row in range(2, 50) for col in range(1, row)]
GROWN = B + b"coordinate pattern symmetric\n49 49 %d\n" % len(GROWN_PLACES)
GROWN += b"".join(b"%d %d\n" % place for place in GROWN_PLACES)
CASES.append(("symmetric_and_long", GROWN,
              Good(49, 49, dict.fromkeys(GROWN_PLACES + [place[::-1] for place in GROWN_PLACES], 1), True)))

# Cut after every byte: only cuts after a digit of the last value, or later, are legal.
CUT = S + b"% c\n\n3 3 4\n1 1 1.25e1\n2 1 -7\n\n3 2 0.125\n% x\n3 3 123456789\n%\n"
CUT_VALUES = {CUT.index(b"123456789") + digits: float("123456789"[:digits]) for digits in range(1, 10)}


def cut(size):
    """Returns the result for CUT[:size], or None if any fault is acceptable."""
    last = CUT_VALUES.get(min(size, max(CUT_VALUES)))
    if last is None:
        return None
    return Good(3, 3, {(1, 1): 12.5, (2, 1): -7, (1, 2): -7, (3, 2): 0.125, (2, 3): 0.125, (3, 3): last})
