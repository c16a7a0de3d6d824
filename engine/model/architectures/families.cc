#include "engine/model/architectures/families.h"

#include <algorithm>

namespace inferd::model {

#define INFERD_FAMILIES(FAMILY)             \
  FAMILY("afmoe", Afmoe)                    \
  FAMILY("apertus", Apertus)                \
  FAMILY("arcee", Arcee)                    \
  FAMILY("arctic", Arctic)                  \
  FAMILY("baichuan", Baichuan)              \
  FAMILY("bailingmoe", BailingMoe)          \
  FAMILY("bailingmoe2", BailingMoe2)        \
  FAMILY("bert", Bert)                      \
  FAMILY("bitnet", Bitnet)                  \
  FAMILY("bloom", Bloom)                    \
  FAMILY("chatglm", Chatglm)                \
  FAMILY("codeshell", Starcoder2)           \
  FAMILY("cogvlm", Cogvlm)                  \
  FAMILY("cohere2", Cohere2)                \
  FAMILY("cohere2moe", Cohere2Moe)          \
  FAMILY("command-r", CommandR)             \
  FAMILY("dbrx", Dbrx)                      \
  FAMILY("deci", Deci)                      \
  FAMILY("deepseek", Deepseek)              \
  FAMILY("deepseek2", Deepseek2)            \
  FAMILY("deepseek2-ocr", Deepseek2Ocr)     \
  FAMILY("dots1", Dots1)                    \
  FAMILY("ernie4_5", Ernie)                 \
  FAMILY("ernie4_5-moe", ErnieMoe)          \
  FAMILY("eurobert", Eurobert)              \
  FAMILY("exaone", Exaone)                  \
  FAMILY("exaone-moe", ExaoneMoe)           \
  FAMILY("exaone4", Exaone4)                \
  FAMILY("falcon", Falcon)                  \
  FAMILY("falcon-h1", FalconH1)             \
  FAMILY("gemma", Gemma)                    \
  FAMILY("gemma-embedding", GemmaEmbedding) \
  FAMILY("gemma2", Gemma2)                  \
  FAMILY("gemma3", Gemma3)                  \
  FAMILY("gemma3n", Gemma3n)                \
  FAMILY("gemma4", Gemma4)                  \
  FAMILY("glm4", Glm4)                      \
  FAMILY("glm4moe", Glm4Moe)                \
  FAMILY("gpt-oss", GptOss)                 \
  FAMILY("gpt2", Gpt2)                      \
  FAMILY("gptneox", GptNeox)                \
  FAMILY("granite", Granite)                \
  FAMILY("granite_swa", GraniteSwa)         \
  FAMILY("granitehybrid", GraniteHybrid)    \
  FAMILY("granitemoe", GraniteMoe)          \
  FAMILY("grok", Grok)                      \
  FAMILY("hunyuan-dense", HunyuanDense)     \
  FAMILY("hunyuan-moe", HunyuanMoe)         \
  FAMILY("hunyuan_vl", HunyuanDense)        \
  FAMILY("hy_v3", Hy3)                      \
  FAMILY("internlm2", Llama)                \
  FAMILY("jais", Jais)                      \
  FAMILY("jais2", Nemotron)                 \
  FAMILY("jamba", Jamba)                    \
  FAMILY("jina-bert-v2", JinaBert2)         \
  FAMILY("jina-bert-v3", JinaBert3)         \
  FAMILY("laguna", Laguna)                  \
  FAMILY("lfm2", Lfm2)                      \
  FAMILY("lfm2moe", Lfm2Moe)                \
  FAMILY("llama", Llama)                    \
  FAMILY("llama-embed", LlamaEmbed)         \
  FAMILY("llama4", Llama4)                  \
  FAMILY("maincoder", Maincoder)            \
  FAMILY("mamba", Mamba)                    \
  FAMILY("mamba2", Mamba2)                  \
  FAMILY("mellum", Mellum)                  \
  FAMILY("mimo2", Mimo2)                    \
  FAMILY("minicpm", Minicpm)                \
  FAMILY("minicpm3", Minicpm3)              \
  FAMILY("minimax-m2", MinimaxM2)           \
  FAMILY("mistral3", Mistral3)              \
  FAMILY("mistral4", Deepseek2)             \
  FAMILY("modern-bert", ModernBert)         \
  FAMILY("mpt", Mpt)                        \
  FAMILY("nemotron", Nemotron)              \
  FAMILY("nemotron_h", NemotronH)           \
  FAMILY("nemotron_h_moe", NemotronHMoe)    \
  FAMILY("neo-bert", NeoBert)               \
  FAMILY("nomic-bert", NomicBert)           \
  FAMILY("nomic-bert-moe", NomicBertMoe)    \
  FAMILY("olmo", Olmo)                      \
  FAMILY("olmo2", Olmo2)                    \
  FAMILY("olmoe", Olmoe)                    \
  FAMILY("openelm", Qwen3)                  \
  FAMILY("orion", Orion)                    \
  FAMILY("paddleocr", PaddleOcr)            \
  FAMILY("pangu-embedded", Qwen2)           \
  FAMILY("phi2", Phi2)                      \
  FAMILY("phi3", Phi3)                      \
  FAMILY("phimoe", PhiMoe)                  \
  FAMILY("plamo", Plamo)                    \
  FAMILY("plamo3", Plamo3)                  \
  FAMILY("plm", Plm)                        \
  FAMILY("qwen", Qwen1)                     \
  FAMILY("qwen2", Qwen2)                    \
  FAMILY("qwen2moe", Qwen2Moe)              \
  FAMILY("qwen2vl", Qwen2)                  \
  FAMILY("qwen3", Qwen3)                    \
  FAMILY("qwen35", Qwen35)                  \
  FAMILY("qwen35moe", Qwen35Moe)            \
  FAMILY("qwen3moe", Qwen3Moe)              \
  FAMILY("qwen3next", Qwen3Next)            \
  FAMILY("qwen3vl", Qwen3)                  \
  FAMILY("qwen3vlmoe", Qwen3Moe)            \
  FAMILY("refact", Refact)                  \
  FAMILY("seed_oss", SeedOss)               \
  FAMILY("smallthinker", Smallthinker)      \
  FAMILY("smollm3", Smollm3)                \
  FAMILY("spark2_5", Spark25)               \
  FAMILY("stablelm", Stablelm)              \
  FAMILY("starcoder", Starcoder)            \
  FAMILY("starcoder2", Starcoder2)          \
  FAMILY("step35", Step35)                  \
  FAMILY("xverse", Llama)

#define INFERD_DECLARE(name, Describer) DecoderSpec Describe##Describer(Metadata& m);
INFERD_FAMILIES(INFERD_DECLARE)
#undef INFERD_DECLARE

namespace {

#define INFERD_ENTRY(name, Describer) {name, Describe##Describer},
constexpr Family kFamilies[] = {INFERD_FAMILIES(INFERD_ENTRY)};
#undef INFERD_ENTRY

}  // namespace

std::span<const Family> Families() { return kFamilies; }

const Family* FindFamily(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(kFamilies), std::end(kFamilies), [&](const Family& f) { return f.name == name; });
  return found == std::end(kFamilies) ? nullptr : found;
}

}  // namespace inferd::model
