// A million steps of random load: bounds are kept, nobody starves, no page is lost.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "engine/scheduler/fake_kv_memory.h"
#include "engine/scheduler/scheduler.h"

namespace inferd::scheduler {
namespace {

constexpr int64_t kSteps = 1'000'000;
constexpr int64_t kBlocks = 24;
constexpr SchedulerOptions kOptions{
    .max_sequences = 8, .prefill_tokens = 64, .max_result_rows = 12, .ageing_seconds = 5};

struct Running {
  MonotonicTime arrival;
  int64_t left;  // tokens to generate
};

class RandomLoad {
 public:
  explicit RandomLoad(uint32_t seed) : random_(seed) {}

  void Run() {
    for (int64_t step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
      clock_.Advance(std::chrono::milliseconds(10));
      if (requests_.size() < 24 && Chance(12)) Arrive();
      if (!requests_.empty() && Chance(200)) Leave();
      Step();
    }
    while (!requests_.empty() && !testing::Test::HasFailure()) {
      clock_.Advance(std::chrono::milliseconds(10));
      Step();
    }
    EXPECT_TRUE(scheduler_.idle());
    EXPECT_EQ(memory_.used(), 0) << "pages were lost";
    EXPECT_GT(scheduler_.preemptions(), 1000u) << "the load was too light to test anything";
    EXPECT_GT(finished_, 10000);
  }

 private:
  bool Chance(uint32_t one_in) { return random_() % one_in == 0; }

  void Arrive() {
    const SequenceId id = ++last_id_;
    SequenceSpec spec{.id = id,
                      .tokens = static_cast<int64_t>(1 + random_() % (Chance(8) ? 1000 : 100)),
                      .priority = static_cast<Priority>(random_() % 4),
                      .arrival = clock_.Now()};
    if (Chance(10)) spec.deadline = clock_.Now() + std::chrono::milliseconds(random_() % 3000);
    if (Chance(10)) spec.all_rows = true;
    if (Chance(4) && !requests_.empty()) {
      spec.shared_prefix = SharedPrefix{requests_.begin()->first, static_cast<int64_t>(random_() % 500)};
    }
    if (!spec.all_rows && Chance(4)) memory_.cached[id] = spec.tokens / 2;
    requests_[id] = {.arrival = clock_.Now(), .left = static_cast<int64_t>(1 + random_() % 200)};
    scheduler_.Add(spec);
  }

  void Leave() {
    auto leaving = requests_.begin();
    std::advance(leaving, random_() % requests_.size());
    scheduler_.Cancel(leaving->first);
    requests_.erase(leaving);
  }

  void Step() {
    const StepPlan plan = scheduler_.Plan(clock_.Now());
    CheckBounds(plan);
    scheduler_.Computed(plan.work);
    for (SequenceId id : plan.expired) requests_.erase(id);
    ASSERT_TRUE(plan.oversized.empty());
    for (const Work& work : plan.work) {
      if (!work.completes) continue;
      if (--requests_.at(work.id).left > 0) {
        scheduler_.Append(work.id);
      } else {
        scheduler_.Finish(work.id);
        requests_.erase(work.id);
        ++finished_;
      }
    }
    for (const auto& [id, request] : requests_) {
      ASSERT_LT(clock_.Now() - request.arrival, std::chrono::seconds(600)) << "sequence " << id << " starves";
    }
  }

  void CheckBounds(const StepPlan& plan) {
    int64_t prefill = 0, all_rows = 0, decodes = 0;
    std::map<SequenceId, int> seen;
    for (const Work& work : plan.work) {
      const Sequence* sequence = scheduler_.Find(work.id);
      ASSERT_TRUE(sequence != nullptr && sequence->running());
      ASSERT_EQ(work.first, sequence->computed);
      ASSERT_EQ(work.completes, work.first + work.count == sequence->tokens);
      ASSERT_EQ(++seen[work.id], 1);
      const bool decode = sequence->state == SequenceState::kDecode;
      (decode ? decodes : prefill) += work.count;
      if (sequence->spec.all_rows && !decode) all_rows += work.count;
    }
    ASSERT_LE(prefill, kOptions.prefill_tokens);
    ASSERT_LE(all_rows, kOptions.max_result_rows - kOptions.max_sequences);
    ASSERT_LE(scheduler_.load().running_sequences, kOptions.max_sequences);
    ASSERT_EQ(plan.shape.prefill_tokens, prefill);
    ASSERT_EQ(plan.shape.decode_sequences, decodes);
    ASSERT_TRUE(!plan.work.empty() || scheduler_.idle()) << "no progress";
  }

  std::mt19937 random_;
  FakeClock clock_;
  FakeKvMemory memory_{kBlocks};
  Scheduler scheduler_{kOptions, memory_};
  std::map<SequenceId, Running> requests_;
  SequenceId last_id_ = 0;
  int64_t finished_ = 0;
};

TEST(SchedulerProperties, HoldOverAMillionStepsOfRandomLoad) { RandomLoad(20261129).Run(); }

}  // namespace
}  // namespace inferd::scheduler
