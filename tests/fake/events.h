// Events of the fake libcuda, streams with priorities, and page-locked memory. Part of
// cuda.cpp.
//
// If a stream waits for an event, the event's stream does the work before the event and no
// more, so that a forgotten wait shows. During a capture a stream that waits for an event of
// the captured stream joins the capture: its work goes into the same graph, in the order of the
// calls. The captured stream must wait for it before the capture ends.
#ifndef FAKE_EVENTS_H
#define FAKE_EVENTS_H
#include <chrono>

static long tickets; // number of records so far

int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CALL(ENTERED);
  *least = 0;
  *greatest = -5;
  return SUCCESS;
}

int cuStreamCreateWithPriority(void **handle, unsigned flags, int priority) {
  *handle = &state;
  CALL(ENTERED);
  if (priority > 0 || priority < -5) {
    return c.wrong(INVALID_VALUE, "a priority that is none");
  }
  streams.push_back({flags == 0, false, {}, nullptr, {}, nullptr});
  state.streams++;
  *handle = &streams.back();
  return SUCCESS;
}

int cuEventCreate(void **handle, unsigned) {
  *handle = &state;
  CALL(ENTERED);
  events.push_back({nullptr, nullptr, 0, std::make_shared<long>(0),
                    std::make_shared<double>(0)});
  state.events++;
  *handle = &events.back();
  return SUCCESS;
}

int cuEventDestroy_v2(void *handle) {
  CALL(RELEASING);
  if (find(events, handle) == nullptr) {
    return c.wrong(INVALID_HANDLE, "no such event");
  }
  events.remove_if([=](const event &e) { return &e == handle; });
  state.events--;
  return c.result;
}

int cuEventRecord(void *handle, void *on) {
  CALL(CAPTURED);
  event *e = find(events, handle);
  stream *s = find(streams, on);
  if (e == nullptr || (on != nullptr && s == nullptr)) {
    return c.wrong(INVALID_HANDLE, "no such event, or no such stream");
  }
  e->on = s;
  e->capture = s == nullptr ? nullptr : s->capturing ? s : s->joined;
  if (e->capture != nullptr) {
    return SUCCESS; // the graph's work is ordered already
  }
  e->ticket = ++tickets;
  const std::shared_ptr<long> done = e->done;
  const std::shared_ptr<double> at = e->at;
  const long ticket = e->ticket;
  return c.enqueue(on, {c.name,
                        [=](uint64_t) {
                          *done = std::max(*done, ticket);
                          *at = std::chrono::duration<double, std::milli>(
                                    std::chrono::steady_clock::now().time_since_epoch())
                                    .count();
                          return std::string();
                        },
                        false});
}

int cuStreamWaitEvent(void *handle, void *event_handle, unsigned flags) {
  CALL(CAPTURED);
  const event *e = find(events, event_handle);
  stream *s = find(streams, handle);
  if (e == nullptr || (handle != nullptr && s == nullptr) || flags != 0) {
    return c.wrong(INVALID_HANDLE, "no such event, or no such stream");
  }
  if (e->capture != nullptr) {
    if (s == nullptr || (s->capturing && s != e->capture)) {
      return c.wrong(CAPTURE_IMPLICIT, "another stream waits for an event of a capture");
    }
    if (s == e->capture) {
      e->on->loose = false;
    } else {
      s->joined = e->capture;
    }
    return SUCCESS;
  }
  if (s != nullptr && (s->capturing || s->joined != nullptr)) {
    return c.wrong(CAPTURE_IMPLICIT, "a capture waits for an event from outside");
  }
  const std::shared_ptr<long> done = e->done;
  const long ticket = e->ticket;
  stream *const on = e->on;
  job j = {c.name, {}, false};
  j.wait = [=] {
    return [=] {
      if (*done < ticket && on != nullptr) {
        (void)current->advance(*on, [=] { return *done >= ticket; });
      }
      return *done >= ticket;
    };
  };
  return c.enqueue(handle, j);
}

int cuEventSynchronize(void *handle) {
  CALL(ENTERED);
  const event *e = find(events, handle);
  if (e == nullptr) {
    return c.wrong(INVALID_HANDLE, "no such event");
  }
  state.waits++;
  return e->on != nullptr ? c.run_all(*e->on) : SUCCESS;
}

// Returns a microsecond for each record in between, plus the time of the work: bench repeats
// products until they take long enough. No test may depend on times.
int cuEventElapsedTime(float *milliseconds, void *start, void *stop) {
  CALL(ENTERED);
  const event *from = find(events, start), *to = find(events, stop);
  if (from == nullptr || to == nullptr || *to->done < to->ticket) {
    return c.wrong(INVALID_HANDLE, "no such event, or one that is not reached");
  }
  *milliseconds = 1e-3f * (float)(to->ticket - from->ticket) + (float)(*to->at - *from->at);
  return SUCCESS;
}

int cuMemGetInfo_v2(size_t *free_bytes, size_t *all) {
  CALL(ENTERED);
  *all = (size_t)1 << 36;
  *free_bytes = *all - (size_t)state.bytes;
  return SUCCESS;
}

int cuMemAllocHost_v2(void **made, size_t bytes) {
  *made = &state;
  CALL(ENTERED);
  *made = bytes > 0 ? malloc(bytes) : nullptr;
  if (*made == nullptr) {
    return c.wrong(INVALID_VALUE, "no bytes");
  }
  state.pinned++;
  return SUCCESS;
}

int cuMemFreeHost(void *made) {
  CALL(RELEASING);
  free(made);
  state.pinned--;
  return c.result;
}
#endif // FAKE_EVENTS_H
