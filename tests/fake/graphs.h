// Streams and graphs of the fake libcuda: queued work and recorded work. Part of cuda.cpp.
#ifndef FAKE_GRAPHS_H
#define FAKE_GRAPHS_H

int cuStreamCreate(void **handle, unsigned flags) {
  CALL(ENTERED);
  streams.push_back({flags == 0, false, {}, nullptr, {}, nullptr});
  state.streams++;
  *handle = &streams.back();
  return SUCCESS;
}

int cuStreamSynchronize(void *handle) {
  CALL(ENTERED);
  state.waits++;
  stream *s = find(streams, handle);
  if (handle == nullptr) {
    state.unwaited = 0;
    return c.wait();
  }
  return s != nullptr ? c.run_all(*s) : c.wrong(INVALID_HANDLE, "the stream does not exist");
}

// Does all work that can be done now.
int cuStreamQuery(void *handle) {
  CALL(ENTERED);
  stream *s = find(streams, handle);
  if (handle == nullptr) {
    return c.wait();
  }
  return s != nullptr ? c.advance(*s) : c.wrong(INVALID_HANDLE, "the stream does not exist");
}

int cuStreamDestroy_v2(void *handle) {
  CALL(RELEASING);
  stream *s = find(streams, handle);
  if (s == nullptr) {
    return c.wrong(INVALID_HANDLE, "the stream does not exist");
  }
  c.run_all(*s);
  streams.remove_if([=](const stream &other) { return &other == s; });
  state.streams--;
  return c.result;
}

static int begin_capture(call &c, void *handle, graph *target) {
  stream *s = find(streams, handle);
  if (s == nullptr || s->capturing) {
    return c.wrong(INVALID_HANDLE, "the stream does not exist, or is being captured");
  }
  c.run_all(*s); // earlier work is not part of the capture
  s->capturing = true;
  s->by = std::this_thread::get_id();
  s->target = target;
  return SUCCESS;
}

int cuStreamBeginCapture_v2(void *handle, int) {
  CALL(ENTERED);
  return begin_capture(c, handle, nullptr);
}

static graph *new_graph(bool executable, const graph *owner) {
  graphs.push_back({{}, executable, owner});
  state.graphs += owner == nullptr;
  return &graphs.back();
}

// A failing call also ends the capture and destroys what was captured.
int cuStreamEndCapture(void *handle, void **captured) {
  CALL(RELEASING);
  stream *s = find(streams, handle);
  std::vector<job> jobs;
  if (s == nullptr || !s->capturing) {
    return c.wrong(INVALID_HANDLE, "the stream is not being captured");
  }
  s->capturing = false;
  jobs.swap(s->jobs);
  *captured = nullptr;
  for (stream &other : streams) {
    if (other.joined == s && other.loose) {
      (void)c.wrong(CAPTURE_UNJOINED, "a stream that joined the capture is not waited for");
    }
    other.joined = other.joined == s ? nullptr : other.joined;
  }
  if (c.result == 0) {
    graph *g = s->target != nullptr ? s->target : new_graph(false, nullptr);
    g->jobs = jobs;
    *captured = g;
  }
  return c.result;
}

#ifndef FAKE_OLD
int cuGraphCreate(void **made, unsigned) {
  CALL(ENTERED);
  *made = new_graph(false, nullptr);
  return SUCCESS;
}

int cuGraphConditionalHandleCreate(uint64_t *handle, void *owner, void *, unsigned value,
                                   unsigned flags) {
  CALL(ENTERED);
  if (find(graphs, owner) == nullptr || value != 1 || flags != 1) {
    return c.wrong(INVALID_VALUE, "no such graph, or a condition that the fake does not know");
  }
  conditions.push_back({value, (graph *)owner, nullptr});
  *handle = (uint64_t)&conditions.back().value;
  return SUCCESS;
}

int cuGraphAddNode_v2(void **node, void *owner, const void *, const void *, size_t count,
                      node_parameters *parameters) {
  CALL(ENTERED);
  graph *g = find(graphs, owner);
  condition *found = nullptr;
  for (condition &known : conditions) {
    found = parameters->handle == (uint64_t)&known.value && known.owner == g ? &known : found;
  }
  if (found == nullptr || count != 0 || parameters->type != 13 || parameters->kind != 1 ||
      parameters->size != 1) {
    return c.wrong(INVALID_VALUE, "a node that the fake does not know");
  }
  const job j = {"a conditional node", {}, false, new_graph(false, g), &found->value};
  found->body = (void *)j.repeated;
  parameters->graphs = &found->body;
  g->jobs.push_back(j);
  *node = g;
  return SUCCESS;
}

int cuStreamBeginCaptureToGraph(void *handle, void *target, const void *, const void *,
                                size_t count, int) {
  CALL(ENTERED);
  graph *g = find(graphs, target);
  if (g == nullptr || count != 0) {
    return c.wrong(INVALID_HANDLE, "no such graph");
  }
  return begin_capture(c, handle, g);
}
#endif

// Copies the graph and the bodies of its loops, so that it may be destroyed.
int cuGraphInstantiateWithFlags(void **executable, void *handle, unsigned long long) {
  *executable = &state;
  CALL(ENTERED);
  const graph *g = find(graphs, handle);
  if (g == nullptr) {
    return c.wrong(INVALID_HANDLE, "no such graph");
  }
  graph *made = new_graph(true, nullptr);
  made->jobs = g->jobs;
  for (job &j : made->jobs) {
    if (j.repeated != nullptr) {
      graph *body = new_graph(true, made);
      body->jobs = j.repeated->jobs;
      j.repeated = body;
    }
  }
  *executable = made;
  return SUCCESS;
}

static int destroy_graph(call &c, void *handle, bool executable) {
  const graph *g = find(graphs, handle);
  if (g == nullptr || g->executable != executable) {
    return c.wrong(INVALID_HANDLE, "no such graph");
  }
  graphs.remove_if([=](const graph &other) { return &other == g || other.owner == g; });
  state.graphs--;
  return c.result;
}

int cuGraphDestroy(void *handle) {
  CALL(RELEASING);
  return destroy_graph(c, handle, false);
}

int cuGraphExecDestroy(void *handle) { // after its launches
  CALL(RELEASING);
  for (stream &s : streams) {
    if (!s.capturing) {
      c.run_all(s);
    }
  }
  return destroy_graph(c, handle, true);
}

int cuGraphLaunch(void *executable, void *handle) {
  CALL(ENTERED);
  const graph *g = find(graphs, executable);
  if (g == nullptr || !g->executable) {
    return c.wrong(INVALID_HANDLE, "no such graph");
  }
  state.graph_launches++;
  for (size_t i = 0; i < g->jobs.size() && c.result == 0; i++) {
    c.enqueue(handle, g->jobs[i]);
  }
  return c.result;
}

#endif // FAKE_GRAPHS_H
