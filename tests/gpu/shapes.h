/* Methods with the sizes that a plan is to take, 0 for those of its own choice. */
#ifndef TEST_GPU_SHAPES_H
#define TEST_GPU_SHAPES_H
#include "support/products.h"

typedef struct shape {
  merbit_method method;
  int sigma, omega, threads;
} shape;

static void shape_take(const shape *shape, products_form *form) {
  form->plan.method = shape->method;
  form->plan.sigma = shape->sigma;
  form->plan.omega = shape->omega;
  form->plan.block_threads = shape->threads;
}

#endif /* TEST_GPU_SHAPES_H */
