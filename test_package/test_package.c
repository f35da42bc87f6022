/* Prints which merbit it is linked with, and whether a context can be made. */
#include <merbit.h>
#include <stdio.h>

int main(void) {
  merbit_context *context = NULL;
  const merbit_status status = merbit_context_create(NULL, &context, NULL);
  printf("merbit %s: %s\n", merbit_version(), merbit_status_name(status));
  merbit_context_destroy(context);
  return status != MERBIT_OK;
}
