#include "market/market.h"

/* Matrix Market input: windows of whole lines from a file, memory or a callback. */

#define MBI_MM_PROGRESS 16777216 /* bytes between two calls of the progress callback */

/* Reads from the memory at in->block, as a merbit_read_callback. */
MBI_INTERNAL int64_t mbi_mm_read_block(void *user, void *data, size_t size) {
  mbi_mm_input *in = (mbi_mm_input *)user;
  if (size > in->block_size) {
    size = in->block_size;
  }
  if (size > 0) {
    memcpy(data, in->block, size);
    in->block += size;
    in->block_size -= size;
  }
  return (int64_t)size;
}

/* ---- Messages ---------------------------------------------------------------------------- */

/* Fails with a message about line `line` of the input. It names the file if there is one. */
MBI_PRINTF(4, 5)
MBI_INTERNAL merbit_status mbi_mm_fail(const mbi_mm_input *in, merbit_status status,
                                       int64_t line, const char *format, ...) {
  char text[MERBIT_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return in->path != NULL ? mbi_fail(in->context, status, "%.200s, line %" PRId64 ": %s",
                                     in->path, line, text)
                          : mbi_fail(in->context, status, "line %" PRId64 ": %s", line, text);
}

/* Quotes the bytes from `text` to `end`. Bytes that are not printable ASCII become \xNN, and
 * long text is cut. */
static const char *mbi_mm_quote(const char *text, const char *end, char *quoted) {
  static const char hex[] = "0123456789abcdef";
  size_t size = 0;
  quoted[size++] = '"';
  for (; text < end && size < MBI_MM_QUOTE - 8; text++) {
    const unsigned char c = (unsigned char)*text;
    if (c < 0x20 || c > 0x7E) {
      quoted[size++] = '\\';
      quoted[size++] = 'x';
      quoted[size++] = hex[c >> 4];
      quoted[size++] = hex[c & 15];
    } else {
      quoted[size++] = (char)c;
    }
  }
  (void)snprintf(quoted + size, MBI_MM_QUOTE - size, text < end ? "...\"" : "\"");
  return quoted;
}

MBI_INTERNAL int mbi_mm_is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

MBI_INTERNAL const char *mbi_mm_skip_blanks(const char *p) {
  while (mbi_mm_is_blank(*p)) {
    p++;
  }
  return p;
}

MBI_INTERNAL const char *mbi_mm_word_end(const char *p) {
  while (!mbi_mm_is_blank(*p) && *p != '\n') {
    p++;
  }
  return p;
}

/* Quotes the word at `p`. */
MBI_INTERNAL const char *mbi_mm_quote_word(const char *p, char *quoted) {
  return mbi_mm_quote(p, mbi_mm_word_end(p), quoted);
}

MBI_INTERNAL const char *mbi_mm_quote_line(const char *p, char *quoted) {
  const char *end;
  p = mbi_mm_skip_blanks(p);
  end = p;
  while (*end != '\n') {
    end++;
  }
  while (end > p && mbi_mm_is_blank(end[-1])) {
    end--;
  }
  return mbi_mm_quote(p, end, quoted);
}

/* Returns the last newline of a text, or NULL. */
static const char *mbi_mm_last_newline(const char *text, size_t size) {
  while (size > 0 && text[size - 1] != '\n') {
    size--;
  }
  return size > 0 ? text + size - 1 : NULL;
}

static merbit_status mbi_mm_read_failed(const mbi_mm_input *in, int64_t got) {
  if (in->path != NULL) {
    return mbi_fail(in->context, MERBIT_IO_ERROR,
                    "cannot read %.300s after %" PRId64 " bytes: %s", in->path, in->taken,
                    strerror(errno));
  }
  return mbi_fail(in->context, MERBIT_IO_ERROR,
                  "the read callback returned %" PRId64 " after %" PRId64 " bytes", got,
                  in->taken);
}

/* Rejects compressed files, which are recognised by their first bytes. */
static merbit_status mbi_mm_refuse_packed(const mbi_mm_input *in, const char *data,
                                          size_t size) {
  static const struct {
    const char *magic, *name, *remedy;
  } packers[] = {
      {"\x1f\x8b", "gzip", "gunzip"},
      {"BZh", "bzip2", "bunzip2"},
      {"\xfd"
       "7zXZ",
       "xz", "unxz"},
      {"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
      {"PK\x03\x04", "zip", "unzip"},
  };
  size_t i;
  for (i = 0; i < sizeof packers / sizeof packers[0]; i++) {
    const size_t length = strlen(packers[i].magic);
    if (size >= length && memcmp(data, packers[i].magic, length) == 0) {
      return mbi_mm_fail(in, MERBIT_INVALID_FILE, 1,
                         "the input is packed with %s; unpack it first (%s), or read it by "
                         "merbit_matrix_read_stream with a callback that unpacks it, as in "
                         "docs/guide.md",
                         packers[i].name, packers[i].remedy);
    }
  }
  return MERBIT_OK;
}

/* ---- Windows ----------------------------------------------------------------------------- */

MBI_INTERNAL merbit_status mbi_mm_report(mbi_mm_input *in, int64_t step) {
  if (in->desc->progress == NULL || in->taken - in->reported < step) {
    return MERBIT_OK;
  }
  in->reported = in->taken;
  if (in->desc->progress(in->desc->progress_user, in->taken, in->total) != 0) {
    return mbi_fail(in->context, MERBIT_CANCELLED,
                    "the progress callback cancelled the read after %" PRId64 " bytes",
                    in->taken);
  }
  return MERBIT_OK;
}

/* Takes a window of whole lines directly from memory. Returns 0 if too few bytes follow it. */
static int mbi_mm_window_in_place(mbi_mm_input *in) {
  size_t size = in->block_size;
  const char *last;
  if (size <= MBI_MM_PAD || in->rest_size > 0 || in->in_comment) {
    return 0;
  }
  size = size - MBI_MM_PAD < MBI_MM_WINDOW ? size - MBI_MM_PAD : MBI_MM_WINDOW;
  last = mbi_mm_last_newline(in->block, size);
  if (last == NULL) {
    return 0;
  }
  in->next = in->block;
  in->end = last + 1;
  size = (size_t)(in->end - in->next);
  in->block += size;
  in->block_size -= size;
  in->taken += (int64_t)size;
  return 1;
}

/* Fills the buffer with the rest of the last window and with new bytes. */
static merbit_status mbi_mm_fill(mbi_mm_input *in, size_t *used) {
  *used = in->rest_size;
  memmove(in->buffer, in->rest, *used);
  while (!in->ended && *used < MBI_MM_WINDOW) {
    const size_t room = MBI_MM_WINDOW - *used;
    const int64_t got = in->read(in->user, in->buffer + *used, room);
    if (got < 0 || (uint64_t)got > room) {
      return mbi_mm_read_failed(in, got);
    }
    in->ended = got == 0;
    in->taken += got;
    *used += (size_t)got;
  }
  memset(in->buffer + *used, '\n', 2 * MBI_MM_PAD);
  return MERBIT_OK;
}

/* Makes a window of the whole lines in the buffer's first `used` bytes. The window is empty if
 * they contain no whole line. The last line of the input may lack its newline. */
static void mbi_mm_window_in_buffer(mbi_mm_input *in, size_t used) {
  const char *last = mbi_mm_last_newline(in->buffer, used);
  in->next = in->buffer;
  in->end = last != NULL ? last + 1 : in->buffer;
  if (in->ended && used > 0 && in->buffer[used - 1] != '\n') {
    in->end = in->buffer + used + 1;
    in->added = 1;
    used++;
  }
  in->rest = in->end;
  in->rest_size = (size_t)(in->buffer + used - in->end);
}

/* Skips a part of a line that is longer than the buffer. Such a line must be a comment. */
static merbit_status mbi_mm_long_line(mbi_mm_input *in) {
  if (!in->in_comment && (in->line == 1 || *mbi_mm_skip_blanks(in->rest) != '%')) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line,
                       "longer than %d bytes, which only comments may be", MBI_MM_WINDOW);
  }
  in->in_comment = 1;
  in->rest_size = 0;
  return MERBIT_OK;
}

static merbit_status mbi_mm_refuse_nul(mbi_mm_input *in, const char *data, size_t size) {
  const char *nul = (const char *)memchr(data, '\0', size);
  if (nul == NULL) {
    return MERBIT_OK;
  }
  for (; data < nul; data++) {
    in->line += *data == '\n';
  }
  return mbi_mm_fail(in, MERBIT_INVALID_FILE, in->line, "a zero byte; this is not a text file");
}

/* Reads the next window. At the end of the input, next == end. */
static merbit_status mbi_mm_refill(mbi_mm_input *in) {
  do {
    size_t used;
    if (mbi_mm_window_in_place(in)) {
      MBI_TRY(mbi_mm_refuse_nul(in, in->next, (size_t)(in->end - in->next)));
      return mbi_mm_report(in, MBI_MM_PROGRESS);
    }
    MBI_TRY(mbi_mm_fill(in, &used));
    MBI_TRY(mbi_mm_refuse_nul(in, in->buffer, used));
    MBI_TRY(mbi_mm_report(in, MBI_MM_PROGRESS));
    mbi_mm_window_in_buffer(in, used);
    if (in->next == in->end && used > 0) {
      MBI_TRY(mbi_mm_long_line(in));
    } else if (in->in_comment) { /* the comment ends here, if only because the input does */
      in->next = used > 0
                     ? (const char *)memchr(in->next, '\n', (size_t)(in->end - in->next)) + 1
                     : in->end;
      in->line++;
      in->in_comment = 0;
    }
  } while (in->next == in->end && !(in->ended && in->rest_size == 0));
  return MERBIT_OK;
}

/* Goes to the next line that is neither blank nor a comment. Such lines are accepted everywhere
 * after the banner, although the definition allows fewer places. */
MBI_INTERNAL merbit_status mbi_mm_next_line(mbi_mm_input *in) {
  for (;;) {
    const char *p;
    if (in->next == in->end) {
      MBI_TRY(mbi_mm_refill(in));
      if (in->next == in->end) {
        return MERBIT_OK;
      }
    }
    p = mbi_mm_skip_blanks(in->next);
    if (*p != '\n' && *p != '%') {
      return MERBIT_OK;
    }
    in->next = (const char *)memchr(p, '\n', (size_t)(in->end - p)) + 1;
    in->line++;
  }
}

/* Reads the first window, without a byte order mark. Fails for empty or compressed input. */
MBI_INTERNAL merbit_status mbi_mm_start(mbi_mm_input *in) {
  const char *head = in->block;
  size_t size = in->block_size;
  in->rest = in->buffer;
  in->line = 1;
  if (in->block == NULL) {
    MBI_TRY(mbi_mm_fill(in, &size));
    head = in->buffer;
    in->rest_size = size;
  }
  if (size == 0) {
    return mbi_mm_fail(in, MERBIT_INVALID_FILE, 1,
                       "the input is empty; a Matrix Market banner is expected");
  }
  MBI_TRY(mbi_mm_refuse_packed(in, head, size));
  if (size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0) {
    if (in->block != NULL) {
      in->block += 3;
      in->block_size -= 3;
      in->taken += 3;
    } else {
      in->rest += 3;
      in->rest_size -= 3;
    }
  }
  return mbi_mm_refill(in);
}
