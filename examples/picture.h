/* How an iteration converges: a quantity on a logarithmic scale against the iteration. The
 * picture is an SVG; if its path ends in .json, the file gets the numbers instead, which
 * examples/plots/convergence.py draws. For programs that print a progress line, keep what it
 * showed, and write the picture at the end:
 *
 *   picture_curve curve = {"f64", iterations, changes, count};
 *   picture p = {"PageRank of the web", "iteration", "L1 change", 1e-10};
 *   if (picture_write("pagerank.svg", &p, &curve, 1) != 0) { perror("pagerank.svg"); }
 */
#ifndef EXAMPLES_PICTURE_H
#define EXAMPLES_PICTURE_H

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct picture_curve {
  const char *name;
  const int *iterations; /* ascending; NULL means 1, 2, 3, ... */
  const double *values;  /* values that are not finite and positive are left out */
  int count;
} picture_curve;

typedef struct picture {
  const char *title, *x_label, *y_label;
  double target; /* draws a dashed line at this tolerance; 0: none */
} picture;

enum {
  PICTURE_WIDTH = 760,
  PICTURE_HEIGHT = 440,
  PICTURE_LEFT = 84, /* frame around the curves */
  PICTURE_RIGHT = 740,
  PICTURE_TOP = 48,
  PICTURE_BOTTOM = 380
};

typedef struct picture_scale {
  int last;         /* iteration at the right edge */
  double low, high; /* bottom and top, as powers of ten */
} picture_scale;

static int picture_shows(double value) {
  return value > 0 && value <= 1e300;
}

static int picture_iteration(const picture_curve *curve, int k) {
  return curve->iterations != NULL ? curve->iterations[k] : k + 1;
}

static double picture_x(const picture_scale *scale, double iteration) {
  return PICTURE_LEFT + (PICTURE_RIGHT - PICTURE_LEFT) * iteration / scale->last;
}

static double picture_y(const picture_scale *scale, double value) {
  return PICTURE_BOTTOM - (PICTURE_BOTTOM - PICTURE_TOP) * (log10(value) - scale->low) /
                              (scale->high - scale->low);
}

static void picture_widen(picture_scale *scale, double value) {
  if (picture_shows(value)) {
    scale->low = fmin(scale->low, floor(log10(value)));
    scale->high = fmax(scale->high, ceil(log10(value)));
  }
}

static picture_scale picture_measure(const picture *p, const picture_curve *curves, int count) {
  picture_scale scale = {1, 400, -400};
  int c, k;
  for (c = 0; c < count; c++) {
    for (k = 0; k < curves[c].count; k++) {
      const int iteration = picture_iteration(&curves[c], k);
      scale.last = iteration > scale.last ? iteration : scale.last;
      picture_widen(&scale, curves[c].values[k]);
    }
  }
  picture_widen(&scale, p->target);
  if (scale.low >= scale.high) { /* no values, or all within one power of ten */
    scale.high = fabs(scale.high) < 400 ? scale.high : 0;
    scale.low = scale.high - 1;
  }
  return scale;
}

/* Writes text and escapes the characters that are special in XML. */
static void picture_text(FILE *file, const char *text) {
  for (; *text != '\0'; text++) {
    const char *name = *text == '<' ? "&lt;" : *text == '&' ? "&amp;" : NULL;
    if (name != NULL) {
      (void)fputs(name, file);
    } else {
      (void)fputc(*text, file);
    }
  }
}

static void picture_label(FILE *file, double x, double y, const char *attributes,
                          const char *text) {
  (void)fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
  picture_text(file, text);
  (void)fputs("</text>\n", file);
}

static void picture_line(FILE *file, double x1, double y1, double x2, double y2,
                         const char *attributes) {
  (void)fprintf(file, "<path d=\"M%.1f %.1fL%.1f %.1f\" %s/>\n", x1, y1, x2, y2, attributes);
}

/* Returns the smallest of 1, 2, 5, 10, 20, 50, ... that gives at most ten steps to `last`. */
static int picture_step(int last) {
  int step = 1;
  while (last / step > 10) {
    step = step % 9 == 2 ? step / 2 * 5 : 2 * step; /* 2, 20, 200: remainder 2 mod 9 */
  }
  return step;
}

static void picture_axes(FILE *file, const picture *p, const picture_scale *scale) {
  const int decades = (int)(scale->high - scale->low);
  const int power_step = decades > 10 ? (decades + 9) / 10 : 1;
  const int step = picture_step(scale->last);
  char text[64];
  int k;
  for (k = 0; k <= decades; k += power_step) {
    const double y = picture_y(scale, pow(10, scale->low + k));
    (void)snprintf(text, sizeof text, "1e%d", (int)scale->low + k);
    picture_line(file, PICTURE_LEFT, y, PICTURE_RIGHT, y, "stroke=\"#ddd\"");
    picture_label(file, PICTURE_LEFT - 8, y + 4, "text-anchor=\"end\"", text);
  }
  for (k = 0; k <= scale->last; k += step) {
    const double x = picture_x(scale, k);
    (void)snprintf(text, sizeof text, "%d", k);
    picture_line(file, x, PICTURE_BOTTOM, x, PICTURE_BOTTOM + 5, "stroke=\"#333\"");
    picture_label(file, x, PICTURE_BOTTOM + 20, "text-anchor=\"middle\"", text);
    if (k > scale->last - step) {
      break; /* k + step might overflow */
    }
  }
  (void)fprintf(file, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#333\"/>\n",
                PICTURE_LEFT, PICTURE_TOP, PICTURE_BOTTOM, PICTURE_RIGHT);
  picture_label(file, (PICTURE_LEFT + PICTURE_RIGHT) / 2, PICTURE_HEIGHT - 16,
                "text-anchor=\"middle\"", p->x_label);
  picture_label(file, -(PICTURE_TOP + PICTURE_BOTTOM) / 2, 20,
                "text-anchor=\"middle\" transform=\"rotate(-90)\"", p->y_label);
  picture_label(file, PICTURE_LEFT, 28, "font-size=\"17\"", p->title);
}

static void picture_draw(FILE *file, const picture_curve *curve, const picture_scale *scale,
                         const char *colour) {
  int k, drawn = 0;
  (void)fprintf(file, "<path fill=\"none\" stroke-width=\"2\" stroke=\"%s\" d=\"", colour);
  for (k = 0; k < curve->count; k++) {
    const int shows = picture_shows(curve->values[k]);
    if (shows) {
      (void)fprintf(file, "%c%.1f %.1f", drawn ? 'L' : 'M',
                    picture_x(scale, picture_iteration(curve, k)),
                    picture_y(scale, curve->values[k]));
    }
    drawn = shows;
  }
  (void)fputs("\"/>\n", file);
}

static void picture_svg(FILE *file, const picture *p, const picture_curve *curves, int count) {
  static const char *const colours[] = {"#1f6fb4", "#d1495b", "#3a8f4d", "#8a5fb0"};
  const picture_scale scale = picture_measure(p, curves, count);
  int c;
  (void)fprintf(file,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                "font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                PICTURE_WIDTH, PICTURE_HEIGHT);
  picture_axes(file, p, &scale);
  if (picture_shows(p->target)) {
    const double y = picture_y(&scale, p->target);
    picture_line(file, PICTURE_LEFT, y, PICTURE_RIGHT, y,
                 "stroke=\"#333\" stroke-dasharray=\"6 4\"");
  }
  for (c = 0; c < count; c++) {
    const char *colour = colours[c % 4];
    const double y = PICTURE_TOP + 18 + 20 * c;
    picture_draw(file, &curves[c], &scale, colour);
    (void)fprintf(file, "<path d=\"M%d %.1fh24\" stroke-width=\"2\" stroke=\"%s\"/>\n",
                  PICTURE_RIGHT - 34, y - 4, colour);
    picture_label(file, PICTURE_RIGHT - 42, y, "text-anchor=\"end\"", curves[c].name);
  }
  (void)fputs("</svg>\n", file);
}

static void picture_json_text(FILE *file, const char *name, const char *text) {
  (void)fprintf(file, "\"%s\": \"", name);
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\' || (unsigned char)*text < 32) {
      (void)fprintf(file, "\\u%04x", (unsigned)(unsigned char)*text);
    } else {
      (void)fputc(*text, file);
    }
  }
  (void)fputs("\",\n", file);
}

/* Writes the curves as JSON. Values that the SVG leaves out become null. */
static void picture_json(FILE *file, const picture *p, const picture_curve *curves, int count) {
  int c, k;
  (void)fputs("{\n", file);
  picture_json_text(file, "title", p->title);
  picture_json_text(file, "x_label", p->x_label);
  picture_json_text(file, "y_label", p->y_label);
  (void)fprintf(file, "\"target\": %.17g,\n\"curves\": [", p->target);
  for (c = 0; c < count; c++) {
    (void)fputs(c > 0 ? ", {\n" : "{\n", file);
    picture_json_text(file, "name", curves[c].name);
    (void)fputs("\"points\": [", file);
    for (k = 0; k < curves[c].count; k++) {
      (void)fprintf(file, "%s[%d, ", k > 0 ? ", " : "", picture_iteration(&curves[c], k));
      if (picture_shows(curves[c].values[k])) {
        (void)fprintf(file, "%.4g]", curves[c].values[k]);
      } else {
        (void)fputs("null]", file);
      }
    }
    (void)fputs("]}", file);
  }
  (void)fputs("]\n}\n", file);
}

/* Writes the picture. Returns 0, or -1 with errno set if the file cannot be written. */
static int picture_write(const char *path, const picture *p, const picture_curve *curves,
                         int count) {
  const char *ending = strrchr(path, '.');
  FILE *file = fopen(path, "wb");
  int failed;
  if (file == NULL) {
    return -1;
  }
  if (ending != NULL && strcmp(ending, ".json") == 0) {
    picture_json(file, p, curves, count);
  } else {
    picture_svg(file, p, curves, count);
  }
  failed = ferror(file);
  return fclose(file) != 0 || failed ? -1 : 0;
}

#endif /* EXAMPLES_PICTURE_H */
