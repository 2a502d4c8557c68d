/* oneTBB's flow graph: a continue_node each and its edges. An edge to a node that has run is never
 * seen, so such a graph is complete before it starts: there is no submitting while it runs, and its
 * figures "online" are those of building and then running. The thread that built it helps to run
 * it. (C++, because this library has no other interface.) */
#include "peer.h"

#include <deque>
#include <memory>
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>

namespace flow = oneapi::tbb::flow;
using node = flow::continue_node<flow::continue_msg>;

static std::unique_ptr<oneapi::tbb::global_control> limit;
static std::unique_ptr<flow::graph> all;
static std::deque<node> nodes;

extern "C" const char *peer_open(uint32_t workers, const char *folder) {
  (void)folder;
  limit = std::make_unique<oneapi::tbb::global_control>(
      oneapi::tbb::global_control::max_allowed_parallelism, workers + 1);
  all = std::make_unique<flow::graph>();
  node first(*all, [](const flow::continue_msg &) {});
  first.try_put(flow::continue_msg());
  all->wait_for_all();
  return nullptr;
}

extern "C" const char *peer_prepare(const struct peer_run *run) {
  (void)run;
  return nullptr;
}

extern "C" const char *peer_do(const struct peer_run *run) {
  const struct peer_graph *graph = run->graph;
  for (uint32_t i = 0; i < graph->count; i++) {
    nodes.emplace_back(*all, [run, i](const flow::continue_msg &) { run->body(run->argument, i); });
    for (uint32_t e = graph->first[i]; e < graph->first[i + 1]; e++)
      flow::make_edge(nodes[graph->before[e]], nodes[i]);
  }
  run->submitted(run->argument);
  nodes[0].try_put(flow::continue_msg());
  all->wait_for_all();
  return nullptr;
}

extern "C" void peer_finish(const struct peer_run *run) {
  (void)run;
  nodes.clear();
}
