// Recurrent states where sequences end, within a page: who goes on from them, and which of them stay.
#include <gtest/gtest.h>

#include <random>

#include "engine/cache/testing_cache.h"

namespace inferd::cache {
namespace {

constexpr int64_t kSlots = 24;  // of 8 sequences, and 16 that are kept

TestCache MakeRecurrent(int64_t blocks) { return Make(RecurrentLayout(), blocks, /*reuse=*/true, kSlots * 256); }

// The state is a hash of all tokens; the pages of layer 0 hold them.
uint64_t& StateOf(const TestCache& cache, const Sequence& sequence) {
  return *reinterpret_cast<uint64_t*>(cache.State(sequence, 1));
}
uint64_t Extend(uint64_t state, int32_t token) { return (state ^ static_cast<uint64_t>(token + 1)) * 1099511628211u; }
uint64_t StateAfter(std::span<const int32_t> tokens) {
  uint64_t state = 0;
  for (const int32_t token : tokens) state = Extend(state, token);
  return state;
}
int32_t& TokenAt(const TestCache& cache, const Sequence& sequence, int64_t position) {
  return reinterpret_cast<int32_t*>(cache.Page(sequence, 0, position / 64))[position % 64];
}

// What a pass does before it commits.
absl::Status Compute(const TestCache& cache, Sequence& sequence, std::span<const int32_t> tokens) {
  RETURN_IF_ERROR(cache->Reserve(sequence, std::ssize(tokens)));
  for (int64_t i = 0; i < std::ssize(tokens); ++i) {
    TokenAt(cache, sequence, sequence.length() + i) = tokens[i];
    StateOf(cache, sequence) = Extend(StateOf(cache, sequence), tokens[i]);
  }
  return absl::OkStatus();
}

// The rest of a text, in steps that end where the scheduler ends them: at the last page, and at the end.
absl::Status Finish(const TestCache& cache, Sequence& sequence, std::span<const int32_t> text) {
  const int64_t last = std::max(std::ssize(text) / 64 * 64, sequence.length());
  for (const int64_t end : {last, std::ssize(text)}) {
    const auto part = text.subspan(sequence.length(), end - sequence.length());
    if (part.empty()) continue;
    RETURN_IF_ERROR(Compute(cache, sequence, part));
    cache->Commit(sequence, part);
  }
  return absl::OkStatus();
}

void Leave(const TestCache& cache, std::span<const int32_t> text, const PrefixKey& key = {}) {
  auto sequence = *cache->NewSequence(key);
  cache->AttachPrefix(*sequence, text);
  ASSERT_TRUE(Finish(cache, *sequence, text).ok());
}

std::vector<int32_t> Changed(std::vector<int32_t> text, size_t at) {
  text[at] = -7;
  return text;
}

TEST(PartialState, ATextGoesOnWhereItsBeginningEnded) {
  const std::vector<int32_t> text = Tokens(200);
  struct Case {
    std::vector<int32_t> text;
    int64_t known;
    PrefixKey key = {};
  };
  const Case cases[] = {
      {text, 100},
      {Tokens(101), 100},
      {Tokens(100), 64},  // repeated: one token must be computed, and there is no state before it but the page's
      {Tokens(99), 64},
      {Changed(text, 100), 100},
      {Changed(text, 99), 64},  // in the page that is not full: from the last whole page on
      {Changed(text, 64), 64},
      {Changed(text, 63), 0},
      {text, 0, {.tenant_salt = 1}},
      {text, 0, {.adapter = 1}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.known);
    auto cache = MakeRecurrent(10);
    Leave(cache, std::span(text).first(100));
    EXPECT_EQ(cache->CountKnown(c.key, c.text), c.known);
    auto sequence = *cache->NewSequence(c.key);
    ASSERT_EQ(cache->AttachPrefix(*sequence, c.text), c.known);
    EXPECT_EQ(StateOf(cache, *sequence), StateAfter(std::span(c.text).first(c.known)));
    ASSERT_TRUE(Finish(cache, *sequence, c.text).ok());
    EXPECT_EQ(StateOf(cache, *sequence), StateAfter(c.text));
    for (int64_t i = 0; i < std::ssize(c.text); ++i) ASSERT_EQ(TokenAt(cache, *sequence, i), c.text[i]) << i;
  }
}

TEST(PartialState, ThePageThatIsNotFullIsCopiedBeforeItIsWritten) {
  auto cache = MakeRecurrent(10);
  const std::vector<int32_t> text = Tokens(200), other = Changed(text, 100);
  Leave(cache, std::span(text).first(100));
  auto one = *cache->NewSequence({}), two = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*one, text), 100);
  EXPECT_EQ(cache->AttachPrefix(*two, other), 100);
  EXPECT_EQ(one->pages(0)[1], two->pages(0)[1]);
  ASSERT_TRUE(Finish(cache, *one, text).ok());
  ASSERT_TRUE(Finish(cache, *two, other).ok());
  EXPECT_NE(one->pages(0)[1], two->pages(0)[1]);
  EXPECT_EQ(TokenAt(cache, *one, 100), text[100]);
  EXPECT_EQ(TokenAt(cache, *two, 100), -7);
  EXPECT_EQ(cache->CountKnown({}, Changed(text, 101)), 100) << "still there for others";
}

TEST(PartialState, WithoutRoomForACopyTheSharedPageIsTakenOver) {
  auto cache = MakeRecurrent(2);
  const std::vector<int32_t> text = Tokens(128);
  Leave(cache, std::span(text).first(100));
  auto sequence = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*sequence, text), 100);
  const int32_t shared = sequence->pages(0)[1];
  ASSERT_TRUE(Finish(cache, *sequence, text).ok());
  EXPECT_EQ(sequence->pages(0)[1], shared);
  EXPECT_EQ(StateOf(cache, *sequence), StateAfter(text));
  EXPECT_EQ(cache->CountKnown({}, Changed(text, 110)), 64);
}

TEST(PartialState, APageThatAForkHoldsIsLeftToIt) {
  auto cache = MakeRecurrent(2);
  const std::vector<int32_t> text = Tokens(128);
  auto sequence = *cache->NewSequence({});
  ASSERT_TRUE(Finish(cache, *sequence, std::span(text).first(100)).ok());
  auto fork = *cache->Fork(*sequence);
  sequence.reset();
  ASSERT_TRUE(Finish(cache, *fork, text).ok()) << "there is no room for a copy";
  EXPECT_EQ(StateOf(cache, *fork), StateAfter(text));
}

TEST(PartialState, EachEndWithinAPageServesTheTextsThatGoOnFromIt) {
  auto cache = MakeRecurrent(20);
  const std::vector<int32_t> text = Tokens(200), other = Changed(text, 90);
  for (const size_t end : {100, 80, 120, 100}) Leave(cache, std::span(text).first(end));
  Leave(cache, std::span(other).first(110));
  EXPECT_EQ(cache->Stats().prefix_pages, 5) << "a whole page and four ends";
  EXPECT_EQ(cache->CountKnown({}, text), 120);
  EXPECT_EQ(cache->CountKnown({}, Tokens(120)), 100);
  EXPECT_EQ(cache->CountKnown({}, Tokens(81)), 80);
  EXPECT_EQ(cache->CountKnown({}, Changed(text, 85)), 80);
  EXPECT_EQ(cache->CountKnown({}, other), 110);
}

// Pages are known to 192, but one pass had computed them: there is no state at their ends.
TEST(PartialState, AnEarlierEndServesWhereLaterPagesHaveNoState) {
  auto cache = MakeRecurrent(20);
  const std::vector<int32_t> text = Tokens(300);
  Leave(cache, std::span(text).first(100));
  {
    auto sequence = *cache->NewSequence({});
    ASSERT_EQ(cache->AttachPrefix(*sequence, text), 100);
    const auto part = std::span(text).subspan(100, 93);
    ASSERT_TRUE(Compute(cache, *sequence, part).ok());
    cache->Commit(*sequence, part);
  }
  auto sequence = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*sequence, text), 100) << "a token of the fourth page is not worth keeping";
  EXPECT_EQ(StateOf(cache, *sequence), StateAfter(std::span(text).first(100)));
}

TEST(PartialState, AModelWithoutAttentionKeepsItsStateAlone) {
  auto cache = Make({.groups = {}, .page_bytes = {0, 0}, .state_bytes = {0, 256}}, 0, true, kSlots * 256);
  const std::vector<int32_t> text = Tokens(200);
  {
    auto sequence = *cache->NewSequence({});
    ASSERT_TRUE(Grow(*cache, *sequence, std::span(text).first(100)).ok());
    StateOf(cache, *sequence) = 77;
  }
  auto sequence = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*sequence, text), 100);
  EXPECT_EQ(StateOf(cache, *sequence), 77u);
}

TEST(PartialState, TheSlotOfASequenceThatEndsIsHandedOver) {
  auto cache = MakeRecurrent(10);
  auto sequence = *cache->NewSequence({});
  const int32_t slot = sequence->slot();
  ASSERT_TRUE(Finish(cache, *sequence, Tokens(40)).ok());
  sequence.reset();
  EXPECT_NE((*cache->NewSequence({}))->slot(), slot) << "it holds the state that is kept, uncopied";
  EXPECT_EQ(cache->CountKnown({}, Tokens(60)), 40);
}

TEST(PartialState, AStateThatAFailedPassMayHaveMovedIsNotKept) {
  auto cache = MakeRecurrent(10);
  {
    auto sequence = *cache->NewSequence({});
    ASSERT_TRUE(Finish(cache, *sequence, Tokens(100)).ok());
    ASSERT_TRUE(Compute(cache, *sequence, Tokens(5)).ok());
  }
  EXPECT_EQ(cache->CountKnown({}, Tokens(200)), 64);
}

TEST(PartialState, AStateIsKeptWhereNoPassCameAfterTheReservation) {
  auto cache = MakeRecurrent(10);
  {
    auto sequence = *cache->NewSequence({});
    ASSERT_TRUE(Finish(cache, *sequence, Tokens(100)).ok());
    ASSERT_TRUE(cache->Reserve(*sequence, 5).ok());
    ASSERT_TRUE(cache->Reserve(*sequence, 0).ok());
    EXPECT_EQ(sequence->reserved(), 100);
  }
  EXPECT_EQ(cache->CountKnown({}, Tokens(200)), 100);
}

TEST(PartialState, APageWhoseStateMakesRoomForAnotherGoesWithIt) {
  auto cache = MakeRecurrent(100);
  for (int32_t seed = 0; seed < 30; ++seed) Leave(cache, Tokens(40, seed));
  for (int32_t seed = 0; seed < 30; ++seed) {
    EXPECT_EQ(cache->CountKnown({}, Tokens(60, seed)), seed < 30 - kSlots ? 0 : 40) << seed;
  }
  EXPECT_EQ(cache->Stats().blocks_cached, kSlots);
  EXPECT_EQ(cache->Stats().prefix_pages, kSlots);
}

// A long answer leaves a state at each page's end, and so in all slots.
TEST(PartialState, OfOneTextTheLastStateStaysTheLongest) {
  auto cache = MakeRecurrent(100);
  const std::vector<int32_t> system = Tokens(128, 5), text = Tokens(2001);
  Leave(cache, std::span(text).first(128));
  Leave(cache, system);
  {
    auto sequence = *cache->NewSequence({});
    EXPECT_EQ(cache->AttachPrefix(*sequence, text), 128);
    for (int64_t i = 128; i < 2000; ++i) {
      ASSERT_TRUE(Compute(cache, *sequence, std::span(text).subspan(i, 1)).ok());
      cache->Commit(*sequence, std::span(text).subspan(i, 1));
    }
  }
  auto turn = *cache->NewSequence({}), another = *cache->NewSequence({});
  EXPECT_EQ(cache->AttachPrefix(*turn, text), 2000);
  EXPECT_EQ(StateOf(cache, *turn), StateAfter(std::span(text).first(2000)));
  EXPECT_EQ(cache->CountKnown({}, Changed(text, 130)), 128) << "nor are its first ones lost";
  EXPECT_EQ(cache->CountKnown({}, Tokens(200, 5)), 0) << "the text that was not used since is";
}

// A sequence of the test of random use.
struct Live {
  std::unique_ptr<Sequence> sequence;
  std::vector<int32_t> tokens;

  void ExpectItsOwn(const TestCache& cache) const {
    ASSERT_EQ(StateOf(cache, *sequence), StateAfter(tokens));
    for (int64_t i = 0; i < sequence->length(); ++i) ASSERT_EQ(TokenAt(cache, *sequence, i), tokens[i]) << i;
  }
};

// Each sequence has the state and the pages of its own tokens, whoever else goes on from them or has failed.
TEST(PartialState, SurvivesRandomUse) {
  auto cache = MakeRecurrent(40);
  std::mt19937 random(5);
  std::vector<Live> live;
  std::vector<std::vector<int32_t>> ended(6);  // some of the texts that had an end
  uint64_t ends_found = 0;
  const auto drop = [&](size_t i) {
    ended[random() % ended.size()] = live[i].tokens;
    live.erase(live.begin() + static_cast<int64_t>(i));
  };
  for (int step = 0; step < 20000; ++step) {
    const uint32_t what = random() % 10;
    if (what < 3 && live.size() < 8) {
      Live next{*cache->NewSequence({}), {}};
      std::vector<int32_t> text = random() % 2 == 0 ? ended[random() % ended.size()] : std::vector<int32_t>{};
      if (text.size() > 300) text.clear();
      for (uint32_t n = random() % 90 + 1; n > 0; --n) text.push_back(static_cast<int32_t>(text.size()));
      if (random() % 3 == 0) text[random() % text.size()] = static_cast<int32_t>(random() % 3);
      const int64_t known = cache->CountKnown({}, text), reused = cache->AttachPrefix(*next.sequence, text);
      ASSERT_EQ(reused, known);
      ASSERT_LT(reused, std::ssize(text));
      ends_found += reused % 64 != 0 ? 1 : 0;
      if (!Finish(cache, *next.sequence, text).ok()) continue;
      next.tokens = std::move(text);
      live.push_back(std::move(next));
    } else if (what == 3 && !live.empty() && live.size() < 8) {
      const Live& from = live[random() % live.size()];
      live.push_back({*cache->Fork(*from.sequence), from.tokens});
    } else if ((what == 4 || what == 5) && !live.empty()) {
      const size_t i = random() % live.size();
      if (random() % 3 == 0) Compute(cache, *live[i].sequence, Tokens(random() % 9 + 1)).IgnoreError();  // it fails
      drop(i);
    } else if (!live.empty()) {
      const size_t i = random() % live.size();
      for (uint32_t n = random() % 30 + 1; n > 0; --n) {
        const int32_t token = static_cast<int32_t>(live[i].tokens.size() + (random() % 8 == 0 ? 1 : 0));
        if (!Compute(cache, *live[i].sequence, {&token, 1}).ok()) {
          drop(i);
          break;
        }
        cache->Commit(*live[i].sequence, {&token, 1});
        live[i].tokens.push_back(token);
      }
    }
    for (const Live& l : live) ASSERT_NO_FATAL_FAILURE(l.ExpectItsOwn(cache)) << "step " << step;
  }
  EXPECT_GT(ends_found, 500u) << "the texts had too little in common to test anything";
  live.clear();
  EXPECT_EQ(cache->Stats().blocks_used, 0);
  cache->DropPrefixes();
  EXPECT_EQ(cache->AvailableBlocks(), 40);
}

}  // namespace
}  // namespace inferd::cache
