// A million steps of random load, in several pools: bounds are kept, ranks are honoured, nobody starves, no page is
// lost, and who is refused would indeed have waited.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/scheduler/admission.h"
#include "engine/scheduler/expected_wait.h"
#include "engine/scheduler/scheduler.h"

namespace inferd::scheduler {
namespace {

constexpr SchedulerOptions kOptions{
    .max_sequences = 8, .prefill_tokens = 64, .max_result_rows = 12, .draft_tokens = 12, .ageing_seconds = 5};
constexpr QueueLimits kQueue{.max_requests = 16,
                             .max_tokens = 3000,
                             .max_wait_seconds = 20,
                             .max_sequences = kOptions.max_sequences,
                             .prefill_tokens = kOptions.prefill_tokens};

// As the cache does it: room is made beyond what is computed, so that guesses which were wrong leave no trace.
class ExactMemory : public KvMemory {
 public:
  explicit ExactMemory(int64_t blocks) : total_(blocks) {}

  int64_t Start(const SequenceSpec& spec) override {
    const SequenceId id = spec.id;
    const int64_t tokens = cached.contains(id) ? cached[id] : 0;
    if (BlocksFor(tokens) > AvailableBlocks()) return -1;
    EXPECT_TRUE(held_.emplace(id, Held{tokens, tokens}).second) << "sequence " << id << " starts twice";
    return tokens;
  }
  bool Reserve(SequenceId id, int64_t tokens) override {
    Held& held = held_.at(id);
    const int64_t reserved = std::max(held.reserved, held.computed + tokens);
    if (BlocksFor(reserved) - BlocksFor(held.reserved) > AvailableBlocks()) return false;
    held.reserved = reserved;
    return true;
  }
  void Release(SequenceId id) override { EXPECT_EQ(held_.erase(id), 1u) << "sequence " << id << " holds nothing"; }
  bool ReleaseOthers(int priority) override { return others_priority >= priority && std::exchange(others, 0) > 0; }
  std::vector<int64_t> FreedBlocks(std::span<const SequenceId> in_order) const override {
    std::vector<int64_t> freed;
    for (SequenceId id : in_order) freed.push_back(BlocksFor(held_.at(id).reserved));
    return freed;
  }
  int64_t AvailableBlocks() const override {
    int64_t used = others;
    for (const auto& [id, held] : held_) used += BlocksFor(held.reserved);
    return total_ - used;
  }
  int64_t BlocksFor(int64_t tokens) const override { return (tokens + 63) / 64; }

  void Commit(SequenceId id, int64_t tokens) {
    Held& held = held_.at(id);
    held.computed += tokens;
    ASSERT_LE(held.computed, held.reserved);
  }
  bool Holds(SequenceId id) const { return held_.contains(id); }

  std::map<SequenceId, int64_t> cached;
  int64_t others = 0;  // blocks of somebody else, who gives them back when asked
  int others_priority = 0;

 private:
  struct Held {
    int64_t computed, reserved;
  };
  int64_t total_;
  std::map<SequenceId, Held> held_;
};

struct Case {
  std::string name;
  int64_t blocks, longest_prompt, longest_answer;
  uint32_t arrival_one_in;  // steps
  bool outgrows = false;    // a sequence may be larger than the pool
  bool flood = false;       // nearly all requests have a high priority
  int64_t state_page_tokens = 0;
};

SchedulerOptions OptionsOf(const Case& with) {
  SchedulerOptions options = kOptions;
  options.state_page_tokens = with.state_page_tokens;
  return options;
}

class RandomLoad {
 public:
  RandomLoad(const Case& with, int64_t steps) : case_(with), steps_(steps), memory_(with.blocks) {}

  void Run() {
    for (int64_t step = 0; step < steps_ && !testing::Test::HasFailure(); ++step) {
      if (Chance(case_.arrival_one_in)) Arrive();
      if (!requests_.empty() && Chance(200)) Leave();
      if (case_.outgrows && Chance(50)) {
        memory_.others = std::min<int64_t>(2, memory_.AvailableBlocks());
        memory_.others_priority = static_cast<int>(random_() % 4);
      }
      Step();
    }
    while (!requests_.empty() && !testing::Test::HasFailure()) Step();
    EXPECT_TRUE(scheduler_.idle());
    memory_.others = 0;
    EXPECT_EQ(memory_.AvailableBlocks(), case_.blocks) << "pages were lost";
  }

  int64_t finished = 0, oversized = 0, expired = 0, accepted_guesses = 0, restarted = 0;
  std::map<RejectionReason, int64_t> refused;
  double expected_wait_seconds = 0, actual_wait_seconds = 0;  // of requests with a normal priority
  uint64_t preemptions() const { return scheduler_.preemptions(); }

 private:
  struct Request {
    SequenceSpec spec;
    int64_t left;  // tokens to generate
    double expected_wait_seconds;
    bool began = false;  // has its first token
  };
  struct Before {  // a plan
    std::set<SequenceId> running, decoding;
  };

  bool Chance(uint32_t one_in) { return random_() % one_in == 0; }
  int64_t UpTo(int64_t most) { return static_cast<int64_t>(1 + random_() % static_cast<uint64_t>(most)); }

  SequenceSpec RandomSpec() {
    SequenceSpec spec{
        .id = ++last_id_, .tokens = UpTo(Chance(8) ? case_.longest_prompt : 100), .arrival = clock_.Now()};
    spec.tokens = std::min(spec.tokens, case_.longest_prompt);
    spec.priority =
        case_.flood ? (Chance(20) ? Priority::kBatch : Priority::kHigh) : static_cast<Priority>(random_() % 4);
    if (Chance(10)) spec.deadline = clock_.Now() + std::chrono::milliseconds(random_() % 30000);
    if (Chance(10)) spec.all_rows = true;
    if (Chance(4) && !requests_.empty()) {
      spec.shared_prefix =
          SharedPrefix{.leader = requests_.begin()->first, .tokens = UpTo(500) - 1, .tail = Chance(3) ? UpTo(63) : 0};
    }
    return spec;
  }

  void Arrive() {
    const SequenceSpec spec = RandomSpec();
    Load load = scheduler_.load();
    for (const auto& [id, request] : requests_) {
      load.waiting_requests += scheduler_.Find(id)->admitted ? 0 : 1;
      load.waiting_choices = load.waiting_requests;
    }
    const Arrival arrival{.tokens = spec.tokens,
                          .blocks = memory_.BlocksFor(spec.tokens) + 1,
                          .first_blocks = memory_.BlocksFor(spec.tokens) + 1,
                          .priority = spec.priority,
                          .now = clock_.Now(),
                          .deadline = spec.deadline};
    const double wait = ExpectedWaitSeconds(kQueue, load, arrival, scheduler_.rates());
    if (const auto rejection = CheckAdmission(kQueue, load, arrival, scheduler_.rates())) {
      ++refused[rejection->reason];
      EXPECT_EQ(rejection->expected_wait_seconds, wait);
      EXPECT_TRUE(!load.idle() || spec.deadline) << "an idle engine takes any request";
      return;
    }
    EXPECT_LT(load.waiting_requests, kQueue.max_requests + 1);
    EXPECT_TRUE(load.idle() || wait <= kQueue.max_wait_seconds);
    EXPECT_TRUE(!spec.deadline || clock_.Now() + std::chrono::duration<double>(wait) <= *spec.deadline);
    if (!spec.all_rows && Chance(4)) memory_.cached[spec.id] = spec.tokens / 2;
    requests_[spec.id] = {.spec = spec, .left = UpTo(case_.longest_answer), .expected_wait_seconds = wait};
    scheduler_.Add(spec);
  }

  void Leave() {
    auto leaving = requests_.begin();
    std::advance(leaving, random_() % requests_.size());
    scheduler_.Cancel(leaving->first);
    EXPECT_FALSE(memory_.Holds(leaving->first)) << "a cancelled sequence keeps its pages";
    requests_.erase(leaving);
  }

  void Step() {
    Before before;
    for (const auto& [id, request] : requests_) {
      const SequenceState state = scheduler_.Find(id)->state;
      if (state == SequenceState::kPrefill || state == SequenceState::kDecode) before.running.insert(id);
      if (state != SequenceState::kDecode) continue;
      before.decoding.insert(id);
      if (Chance(3)) scheduler_.Draft(id, UpTo(6));
    }
    const StepPlan plan = scheduler_.Plan(clock_.Now());
    CheckEnds(plan);
    CheckWork(plan, before);
    CheckRanks(plan, before);
    if (testing::Test::HasFailure()) return;
    const double seconds = 0.01 + 0.001 * static_cast<double>(plan.shape.decode_sequences) +
                           0.0005 * static_cast<double>(plan.shape.prefill_tokens);
    clock_.Advance(std::chrono::duration_cast<Milliseconds>(std::chrono::duration<double>(seconds)));
    if (!plan.work.empty()) scheduler_.rates().StepDone(plan.shape, seconds);
    scheduler_.Computed(plan.work);
    for (const Work& work : plan.work) {
      memory_.Commit(work.id, work.count - work.drafts);
      if (work.completes) Generate(work);
    }
    for (const auto& [id, request] : requests_) {
      ASSERT_LT(clock_.Now() - request.spec.arrival, std::chrono::seconds(300)) << "sequence " << id << " starves";
    }
  }

  // Its row, and those of the guesses that turn out right.
  void Generate(const Work& work) {
    Request& request = requests_.at(work.id);
    if (!std::exchange(request.began, true) && request.spec.priority == Priority::kNormal) {
      expected_wait_seconds += request.expected_wait_seconds;
      actual_wait_seconds += std::chrono::duration<double>(clock_.Now() - request.spec.arrival).count();
    }
    for (int64_t row = 0; row <= work.drafts; ++row) {
      if (--request.left <= 0) {
        scheduler_.Finish(work.id);
        requests_.erase(work.id);
        ++finished;
        return;
      }
      if (row == 0 && work.drafts == 0 && Chance(300)) {  // its context was full: it goes on with less
        memory_.cached.erase(work.id);
        scheduler_.Restart(work.id, std::max<int64_t>(scheduler_.Find(work.id)->tokens / 2, 1));
        ++restarted;
        return;
      }
      scheduler_.Append(work.id);
      if (row == work.drafts || Chance(2)) return;
      memory_.Commit(work.id, 1);
      scheduler_.Accept(work.id);
      ++accepted_guesses;
    }
  }

  // Exactly those past their deadline end so; and, where the pool can be too small, those alone in it.
  void CheckEnds(const StepPlan& plan) {
    for (const auto& [id, request] : requests_) {
      const bool late = request.spec.deadline && *request.spec.deadline <= clock_.Now();
      ASSERT_EQ(late, std::find(plan.expired.begin(), plan.expired.end(), id) != plan.expired.end());
    }
    ASSERT_TRUE(case_.outgrows || plan.oversized.empty());
    expired += static_cast<int64_t>(plan.expired.size());
    oversized += static_cast<int64_t>(plan.oversized.size());
    for (const auto* ended : {&plan.expired, &plan.oversized}) {
      for (SequenceId id : *ended) {
        ASSERT_FALSE(memory_.Holds(id));
        requests_.erase(id);
      }
    }
  }

  void CheckWork(const StepPlan& plan, const Before& before) {
    int64_t prefill = 0, all_rows = 0, decodes = 0, drafts = 0;
    std::set<SequenceId> seen;
    for (const Work& work : plan.work) {
      const Sequence* sequence = scheduler_.Find(work.id);
      ASSERT_TRUE(sequence != nullptr && sequence->running());
      ASSERT_EQ(work.first, sequence->computed);
      ASSERT_EQ(work.completes, work.first + work.count - work.drafts == sequence->tokens);
      ASSERT_TRUE(seen.insert(work.id).second);
      const bool decode = sequence->state == SequenceState::kDecode;
      ASSERT_EQ(work.decode, decode);
      decodes += decode ? 1 : 0;
      prefill += decode ? 0 : work.count;
      drafts += work.drafts;
      ASSERT_TRUE(decode || work.drafts == 0);
      if (sequence->spec.all_rows && !decode) all_rows += work.count;
    }
    ASSERT_LE(prefill, kOptions.prefill_tokens);
    ASSERT_LE(drafts, kOptions.draft_tokens);
    ASSERT_LE(all_rows, kOptions.max_result_rows - kOptions.max_sequences);
    ASSERT_LE(scheduler_.load().running_sequences, kOptions.max_sequences);
    ASSERT_EQ(plan.shape.prefill_tokens, prefill);
    ASSERT_EQ(plan.shape.decode_sequences, decodes);
    ASSERT_TRUE(!plan.work.empty() || !plan.oversized.empty() || scheduler_.idle()) << "no progress";
    for (SequenceId id : before.decoding) {
      const Sequence* sequence = scheduler_.Find(id);
      if (sequence == nullptr || sequence->waiting()) continue;  // ended, or gave way
      ASSERT_TRUE(seen.contains(id)) << "sequence " << id << " generates, and is not in the step";
    }
  }

  // Ageing: each five seconds of waiting are a class.
  auto RankOf(SequenceId id) const {
    const SequenceSpec& spec = requests_.at(id).spec;
    const int classes = static_cast<int>((clock_.Now() - spec.arrival) / std::chrono::seconds(5));
    return std::tuple(std::max(static_cast<int>(spec.priority) - std::min(classes, 3), 0), spec.arrival, id);
  }

  void CheckRanks(const StepPlan& plan, const Before& before) {
    for (SequenceId victim : plan.preempted) {
      if (!requests_.contains(victim)) continue;
      ASSERT_FALSE(memory_.Holds(victim));
      for (SequenceId id : before.running) {
        const Sequence* sequence = scheduler_.Find(id);
        if (sequence == nullptr || sequence->waiting()) continue;
        ASSERT_LT(RankOf(id), RankOf(victim)) << victim << " gave way, " << id << " ranks behind it";
      }
    }
    for (const auto& [waiting, request] : requests_) {
      const Sequence& sequence = *scheduler_.Find(waiting);
      const bool preempted = std::find(plan.preempted.begin(), plan.preempted.end(), waiting) != plan.preempted.end();
      if (!sequence.waiting() || preempted || request.spec.shared_prefix) continue;
      for (const auto& [id, other] : requests_) {
        if (before.running.contains(id) || !scheduler_.Find(id)->running()) continue;
        ASSERT_LT(RankOf(id), RankOf(waiting)) << id << " was admitted before " << waiting;
      }
    }
  }

  const Case& case_;
  const int64_t steps_;
  std::mt19937 random_{20261129};
  FakeClock clock_;
  ExactMemory memory_;
  Scheduler scheduler_{OptionsOf(case_), memory_};
  std::map<SequenceId, Request> requests_;
  SequenceId last_id_ = 0;
};

TEST(SchedulerProperties, HoldOverAMillionStepsOfRandomLoad) {
  const Case mixed{.name = "mixed", .blocks = 24, .longest_prompt = 1000, .longest_answer = 200, .arrival_one_in = 12};
  RandomLoad load(mixed, 1'000'000);
  load.Run();
  EXPECT_GT(load.preemptions(), 1000u) << "the load was too light to test anything";
  EXPECT_GT(load.finished, 10000);
  EXPECT_GT(load.expired, 100);
  EXPECT_GT(load.accepted_guesses, 10000);
  EXPECT_GT(load.restarted, 1000);
  EXPECT_GT(load.refused[RejectionReason::kQueueFull], 100);
  EXPECT_GT(load.refused[RejectionReason::kDeadline], 100);
  EXPECT_GT(load.refused[RejectionReason::kWaitTooLong], 0);
  // Over all requests of a normal priority; of one, those that come later and rank before it decide.
  EXPECT_LT(load.actual_wait_seconds, load.expected_wait_seconds * 1.8);
  EXPECT_LT(load.expected_wait_seconds, load.actual_wait_seconds * 1.2);
}

TEST(SchedulerProperties, HoldInTinyPoolsAndFloods) {
  const Case cases[] = {
      {.name = "one sequence fills the pool",
       .blocks = 4,
       .longest_prompt = 120,
       .longest_answer = 100,
       .arrival_one_in = 10},
      {.name = "larger than the pool",
       .blocks = 6,
       .longest_prompt = 500,
       .longest_answer = 100,
       .arrival_one_in = 15,
       .outgrows = true},
      {.name = "recurrent",
       .blocks = 24,
       .longest_prompt = 1000,
       .longest_answer = 100,
       .arrival_one_in = 12,
       .state_page_tokens = 64},
      {.name = "flood", .blocks = 40, .longest_prompt = 300, .longest_answer = 60, .arrival_one_in = 6, .flood = true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    RandomLoad load(c, 200'000);
    load.Run();
    EXPECT_GT(load.finished, 1000);
    EXPECT_EQ(load.oversized > 0, c.outgrows);
  }
}

}  // namespace
}  // namespace inferd::scheduler
