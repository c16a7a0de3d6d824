// Any bytes as the routes that the supervisor sends: a table whose names lead to its models, and whose picks are ready.
#include <cstdint>
#include <cstdlib>

#include "gateway/routing/route_table.h"
#include "inferd/v1/admin.pb.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  inferd::v1::RouteSnapshot snapshot;
  if (!snapshot.ParseFromArray(data, static_cast<int>(size))) return 0;
  const inferd::gateway::RouteTable table(snapshot);
  for (const inferd::gateway::ModelRoute& route : table.models()) {
    if (table.Find(route.model) == nullptr) std::abort();
    for (const std::string& alias : route.aliases) {
      if (table.Find(alias) == nullptr) std::abort();
    }
    for (const uint64_t sticky : {uint64_t{0}, uint64_t{size}, UINT64_MAX}) {
      const inferd::gateway::VersionRoute* picked = inferd::gateway::PickVersion(route, sticky);
      if ((picked != nullptr) != route.serving()) std::abort();
      if (picked != nullptr && (!picked->ready() || picked->weight == 0)) std::abort();
    }
    if (route.state().empty() && !route.versions.empty() && !route.versions.front().state.empty()) std::abort();
  }
  return 0;
}
