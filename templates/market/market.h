#ifndef MBI_MARKET_H
#define MBI_MARKET_H
#include "matrix/matrix.h"

#define MBI_FIVE_FIRST (-342) /* below this power of ten, 19 digits round to zero */
#define MBI_FIVE_LAST 308     /* above this power of ten, one digit exceeds every double */
typedef struct mbi_decimal {  /* a scanned number: +-digits * 10^exponent */
  const char *text;           /* at the first digit or point */
  const char *text_end;       /* after the last digit or point */
  uint64_t digits;            /* the first 19 significant digits */
  int64_t exponent;           /* of the last of these digits */
  int negative;
  int integer; /* 1: there is neither a point nor an exponent */
  int cut;     /* 1: there are digits beyond the 19th */
} mbi_decimal;
/* Space for 801 digits, or for 5^1143 times a significand, and one more word. */
#define MBI_BIG_LIMBS 96
typedef struct mbi_big { /* little-endian, no leading zero limbs */
  uint32_t limb[MBI_BIG_LIMBS];
  int count;
} mbi_big;

/* Bytes of a window, and of the longest data line. Fits in a core's cache. */
#define MBI_MM_WINDOW 262144
#define MBI_MM_PAD 16 /* bytes that may be read after a window */
/* Bytes of a quoted piece of the input, even if every character is escaped. */
#define MBI_MM_QUOTE 80
/* The input arrives in windows of whole lines. Each window ends with a newline, behind which
 * MBI_MM_PAD more bytes are readable. So a scan that stops at '\n' can load eight bytes at once
 * without checking for the end. Input in memory is not copied, except for its end. */
typedef struct mbi_mm_input {
  merbit_context *context;
  const merbit_read_desc *desc;
  const char *path; /* for messages; NULL if there is none */
  merbit_read_callback read;
  void *user;
  const char *block; /* memory that has not been delivered yet */
  size_t block_size;
  const char *next, *end; /* the unread part of the window */
  int64_t line;           /* the number of the line at `next` */
  char *buffer;
  const char *rest; /* the unfinished line in the buffer, after the window */
  size_t rest_size;
  int ended;            /* 1: the source has ended */
  int added;            /* 1: the last line lacks its newline, which has been added */
  int in_comment;       /* 1: inside a comment longer than the buffer */
  int64_t total, taken; /* bytes of the input (0: unknown), and bytes read so far */
  int64_t reported;
} mbi_mm_input;

typedef enum mbi_mm_field {
  MBI_MM_REAL,
  MBI_MM_INTEGER,
  MBI_MM_PATTERN,
  MBI_MM_COMPLEX
} mbi_mm_field;
typedef enum mbi_mm_symmetry {
  MBI_MM_GENERAL,
  MBI_MM_SYMMETRIC,
  MBI_MM_SKEW,
  MBI_MM_HERMITIAN
} mbi_mm_symmetry;
typedef struct mbi_mm_header {
  int array; /* 1: all elements, column by column; 0: coordinates */
  int field, symmetry;
  int64_t rows, cols;
  int64_t entries; /* number of lines that follow the sizes */
  int64_t line;    /* number of the line with the sizes */
} mbi_mm_header;

typedef struct mbi_mm_reader {
  mbi_mm_input in;
  mbi_mm_header header;
  merbit_type type;          /* of the values; DEFAULT until the field has been read */
  int each;                  /* array elements per entry: 2 if it has a mirror image */
  int64_t count, capacity;   /* of the arrays */
  int wide;                  /* 1: 64-bit indices, because there are more than 2^31 rows */
  int triangle;              /* of a symmetric file: 1: lower, -1: upper, 0: not known yet */
  int64_t large, large_line; /* number of integers that the type may not represent, and the
                              * first one's line */
  void *row_ind, *col_ind, *values;
} mbi_mm_reader;
typedef struct mbi_mm_entry {
  int64_t row, col; /* from 1 */
  double value;     /* rounded to float if the reader's type is F32 or C64 */
  double imaginary; /* rounded likewise; for complex files */
} mbi_mm_entry;

#ifdef MBI_SEPARATE
/* market/decimal.c */
MBI_INTERNAL void mbi_five_power(int64_t q, uint64_t five[2]);
MBI_INTERNAL int mbi_is_digit(char c);
MBI_INTERNAL const char *mbi_digits_scan(const char *p, uint64_t *value);
MBI_INTERNAL const char *mbi_decimal_scan(const char *p, mbi_decimal *d);
MBI_INTERNAL void mbi_big_scale(mbi_big *big, uint32_t factor, uint32_t addend);
MBI_INTERNAL int mbi_big_compare(const mbi_big *a, const mbi_big *b);
MBI_INTERNAL int mbi_decimal_f64(const mbi_decimal *d, double *value);
MBI_INTERNAL int mbi_decimal_f32(const mbi_decimal *d, float *value);
/* market/input.c */
MBI_INTERNAL int64_t mbi_mm_read_block(void *user, void *data, size_t size);
MBI_PRINTF(4, 5)
MBI_INTERNAL merbit_status mbi_mm_fail(const mbi_mm_input *in, merbit_status status,
                                       int64_t line, const char *format, ...);
MBI_INTERNAL int mbi_mm_is_blank(char c);
MBI_INTERNAL const char *mbi_mm_skip_blanks(const char *p);
MBI_INTERNAL const char *mbi_mm_word_end(const char *p);
MBI_INTERNAL const char *mbi_mm_quote_word(const char *p, char *quoted);
MBI_INTERNAL const char *mbi_mm_quote_line(const char *p, char *quoted);
MBI_INTERNAL merbit_status mbi_mm_report(mbi_mm_input *in, int64_t step);
MBI_INTERNAL merbit_status mbi_mm_next_line(mbi_mm_input *in);
MBI_INTERNAL merbit_status mbi_mm_start(mbi_mm_input *in);
/* market/header.c */
extern const merbit_symmetry mbi_mm_symmetries[];
MBI_INTERNAL const char *mbi_mm_match(const char *p, const char *word);
MBI_INTERNAL merbit_status mbi_mm_read_banner(mbi_mm_input *in, mbi_mm_header *header);
MBI_INTERNAL const char *mbi_mm_whole(const char *p, int64_t *number);
MBI_INTERNAL merbit_status mbi_mm_check_rows(const mbi_mm_input *in,
                                             const mbi_mm_header *header, int64_t bytes);
MBI_INTERNAL merbit_status mbi_mm_read_sizes(mbi_mm_input *in, mbi_mm_header *header);
/* market/entry.c */
MBI_INTERNAL int mbi_mm_single(merbit_type type);
MBI_INTERNAL const char *mbi_mm_entry_line(const mbi_mm_reader *r, const char *p,
                                           mbi_mm_entry *entry);
MBI_INTERNAL merbit_status mbi_mm_explain(const mbi_mm_reader *r);
/* market/write.c */
MBI_INTERNAL void mbi_mm_mend_point(char *text);
#endif /* MBI_SEPARATE */

#endif
