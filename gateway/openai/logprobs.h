// Log-probabilities in OpenAI's two shapes.
//
//   object["logprobs"] = boost::json::object{{"content", std::move(chat_entries)}, {"refusal", nullptr}};
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstddef>

#include "inferd/v1/inference.pb.h"

namespace inferd::gateway {

// {"token","bytes","logprob","top_logprobs":[...]}
boost::json::object ChatLogprob(const v1::TokenLogprob& logprob);

// The four parallel arrays of text completions.
class TextLogprobs {
 public:
  // `offset`: place of the token's text in the answer's text, in characters; moves on by the token's own.
  void Add(const v1::TokenLogprob& logprob, size_t& offset);
  bool empty() const { return tokens_.empty(); }
  boost::json::object Json() const;

 private:
  boost::json::array tokens_;
  boost::json::array token_logprobs_;
  boost::json::array top_logprobs_;
  boost::json::array text_offset_;
};

}  // namespace inferd::gateway
