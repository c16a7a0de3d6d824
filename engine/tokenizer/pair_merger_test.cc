#include "engine/tokenizer/pair_merger.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace inferd::tokenizer {
namespace {

using Joins = std::map<std::pair<int32_t, int32_t>, Join>;

// The definition: as long as two neighbours join, those of the lowest rank do, the leftmost of several.
std::vector<int32_t> MergeByDefinition(std::vector<int32_t> ids, const Joins& joins) {
  while (true) {
    size_t best = ids.size();
    Join best_join;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto join = joins.find({ids[i], ids[i + 1]});
      if (join != joins.end() && join->second.rank < best_join.rank) {
        best = i;
        best_join = join->second;
      }
    }
    if (best == ids.size()) return ids;
    ids[best] = best_join.id;
    ids.erase(ids.begin() + best + 1);
  }
}

TEST(PairMerger, MergesShortAndLongTextsByDefinition) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    Joins joins;
    const int32_t letters = 2 + random() % 4;
    for (int32_t id = letters; id < letters + 12; ++id) {
      joins.emplace(std::pair<int32_t, int32_t>(random() % id, random() % id),
                    Join{static_cast<uint32_t>(random() % 8), id});
    }
    std::vector<int32_t> ids(random() % 120);
    PairMerger merger;
    merger.Start();
    for (uint32_t i = 0; i < ids.size(); ++i) {
      ids[i] = random() % letters;
      merger.Add(ids[i], i, i + 1);
    }
    merger.Run([&](const Symbol& left, const Symbol& right) {
      const auto join = joins.find({left.id, right.id});
      return join == joins.end() ? Join{} : join->second;
    });
    std::vector<int32_t> merged;
    uint32_t end = 0;
    for (const Symbol& symbol : merger.result()) {
      EXPECT_EQ(symbol.begin, end);
      end = symbol.end;
      merged.push_back(symbol.id);
    }
    EXPECT_EQ(end, ids.size());
    EXPECT_EQ(merged, MergeByDefinition(ids, joins));
  }
}

}  // namespace
}  // namespace inferd::tokenizer
