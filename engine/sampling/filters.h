// Filters over the candidates of one draw: the largest logits, descending, and whether more stand behind them.
//
//   CandidateList list{.entries = best256, .log_sum = log_sum_exp(logits), .open = true};
//   if (!KeepTopP(0.95f, list)) ...     // undecided: take more candidates and begin again
//   int32_t token = Draw(list, u);
//
// A filter that returns false has not changed the list: it would need tokens beyond it. With `open` false none does.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/kernels.h"

namespace inferd::sampling {

using Candidate = kernels::TopEntry;

struct CandidateList {
  std::vector<Candidate> entries;  // descending logits, equal ones by ascending id; never empty
  double log_sum = 0;              // log of the sum of e^logit over all tokens that count
  bool open = false;               // tokens beyond `entries` count too; none has a larger logit than the last entry

  double Probability(const Candidate& candidate) const;
};

// log of the sum of e^logit over the entries.
double LogSum(std::span<const Candidate> entries, const kernels::Kernels& kernels);

// Makes the list closed: what is in it is all that counts.
void Close(CandidateList& list, const kernels::Kernels& kernels);

// The smallest set of most probable tokens with probability >= p together (Holtzman et al. 2020, "nucleus").
bool KeepTopP(float p, CandidateList& list, const kernels::Kernels& kernels);

// Tokens of at least min_p times the probability of the best (Nguyen et al. 2024).
bool KeepMinP(float min_p, CandidateList& list, const kernels::Kernels& kernels);

// The tokens whose surprise is nearest to the entropy, with probability >= p together (Meister et al. 2022). `entropy`
// is that of all tokens that count, in nats.
bool KeepTypical(float p, double entropy, CandidateList& list, const kernels::Kernels& kernels);

// "Exclude top choices" (p-e-w 2024, as llama.cpp has it): how many of the best go, so that of those with a probability
// of at least `threshold` only the last stays. nullopt: undecided.
std::optional<size_t> TopToExclude(float threshold, const CandidateList& list);

// The least logit of the tokens whose surprise is at most `bits` (Basu et al. 2021, "Mirostat", algorithm 2), above all
// banned ones.
float LeastLogit(double log_sum, double bits);
// Whether all tokens of a vocabulary have that logit, and those that have, in order of ids.
bool AllReach(float least, std::span<const float> logits);
std::vector<Candidate> Reaching(float least, std::span<const float> logits);

// log2 of 1 / probability.
double SurpriseBits(const CandidateList& list, const Candidate& candidate);

// Entropy in nats of a closed list, and of a whole vocabulary.
double Entropy(const CandidateList& list);
double Entropy(std::span<const float> logits, double log_sum);

// Divides logits by the temperature > 0 and takes the sum anew. The list must be closed.
void ApplyTemperature(float temperature, CandidateList& list, const kernels::Kernels& kernels);

}  // namespace inferd::sampling
