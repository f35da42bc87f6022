/* Methods with the sizes for a plan; 0: the method's own choice. */
#ifndef TEST_GPU_SHAPES_H
#define TEST_GPU_SHAPES_H
#include "support/products.h"
#include "support/tuning.h"

typedef struct shape {
  merbit_method method;
  int first, second, threads; /* for tuning_take */
} shape;

static void shape_take(const shape *shape, products_form *form) {
  form->plan.method = shape->method;
  tuning_take(&form->plan, shape->first, shape->second);
  form->plan.block_threads = shape->threads;
}

#endif /* TEST_GPU_SHAPES_H */
