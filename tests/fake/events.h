// Events and pinned host memory of the fake libcuda, which bench asks for. Part of cuda.cpp.
#ifndef FAKE_EVENTS_H
#define FAKE_EVENTS_H
#include <chrono>

int cuEventCreate(void **handle, unsigned) {
  CALL(ENTERED);
  events.push_back({-1});
  *handle = &events.back();
  return SUCCESS;
}

int cuEventDestroy_v2(void *handle) {
  CALL(RELEASING);
  event *e = find(events, handle);
  if (e == nullptr) {
    return c.wrong(INVALID_HANDLE, "the event does not exist");
  }
  events.remove_if([=](const event &other) { return &other == e; });
  return c.result;
}

// The stream's work before it is done here, so that two events tell what lies between them.
int cuEventRecord(void *handle, void *stream_handle) {
  CALL(ENTERED);
  event *e = find(events, handle);
  stream *s = find(streams, stream_handle);
  if (e == nullptr || (s == nullptr && stream_handle != nullptr)) {
    return c.wrong(INVALID_HANDLE, "no such event or stream");
  }
  (void)(s != nullptr ? c.run_all(*s) : c.wait());
  e->seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
          .count();
  return c.result;
}

int cuEventSynchronize(void *handle) {
  CALL(ENTERED);
  state.waits++;
  event *e = find(events, handle);
  return e != nullptr && e->seconds >= 0 ? SUCCESS
                                         : c.wrong(INVALID_HANDLE, "nothing recorded");
}

int cuEventElapsedTime(float *milliseconds, void *start, void *stop) {
  CALL(ENTERED);
  event *from = find(events, start), *to = find(events, stop);
  if (from == nullptr || to == nullptr || from->seconds < 0 || to->seconds < 0) {
    return c.wrong(INVALID_HANDLE, "nothing recorded");
  }
  *milliseconds = (float)(1e3 * (to->seconds - from->seconds));
  return SUCCESS;
}

int cuMemAllocHost_v2(void **address, size_t bytes) {
  CALL(ENTERED);
  *address = malloc(bytes);
  return *address != nullptr ? SUCCESS : OUT_OF_MEMORY;
}

int cuMemFreeHost(void *address) {
  CALL(RELEASING);
  free(address);
  return c.result;
}

#endif // FAKE_EVENTS_H
