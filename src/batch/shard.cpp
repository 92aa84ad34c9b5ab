#include <charconv>
#include <cstring>

#include "attn/batch.hpp"

#include "support/translated.hpp"

namespace attn {
namespace {

/// Environment variables that engines set.
class Variables {
 public:
  explicit Variables(const std::function<const char*(const char*)>& look_up) : look_up_(look_up) {}

  bool has(const char* name) const {
    const char* text = look_up_(name);
    return text != nullptr && *text != '\0';
  }

  std::size_t number(const char* name) const {
    const char* text = look_up_(name);
    std::size_t number = 0;
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, number);
    if (error != std::errc() || stop != end) {
      throw Error(
          ErrorKind::usage,
          translated("the variable {1} is \"{2}\", which is not a whole number", name, text), name,
          translated("correct it, or say which part this is with BatchOptions::shard"));
    }
    return number;
  }

 private:
  const std::function<const char*(const char*)>& look_up_;
};

FoundShard checked(std::size_t index, std::size_t count, const std::string& source) {
  if (index >= count) {
    throw Error(ErrorKind::usage,
                translated("part {1} of {2} parts, which count from 0, is what {3} say", index,
                           count, source),
                source, translated("say which part this is with BatchOptions::shard"));
  }
  return {{index, count}, source};
}

// Throws Error(usage) where an engine says which part this is, but not of how many.
void require(const Variables& variables, const char* count, const char* part) {
  if (variables.has(count)) return;
  throw Error(ErrorKind::usage, translated("{1} is set and {2} is not", part, count), part,
              translated("set {1} to the number of tasks, or say which part this is with "
                         "BatchOptions::shard",
                         count));
}

// Whether the process is a step of srun. Slurm sets the numbers of tasks for the batch script too,
// which is one process; steps of srun have numbers below those that Slurm reserves.
bool is_batch_script(const Variables& variables) {
  constexpr std::size_t reserved = 0xfffffff0;
  return variables.has("SLURM_JOB_ID") &&
         (!variables.has("SLURM_STEP_ID") || variables.number("SLURM_STEP_ID") >= reserved);
}

std::optional<FoundShard> find_rank(const Variables& variables) {
  struct Engine {
    const char *rank, *size;
  };
  for (const Engine& engine :
       {Engine{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, Engine{"PMI_RANK", "PMI_SIZE"},
        Engine{"SLURM_PROCID", "SLURM_NTASKS"}}) {
    if (!variables.has(engine.rank)) continue;
    const bool of_slurm = std::strncmp(engine.rank, "SLURM", 5) == 0;
    if (of_slurm && is_batch_script(variables)) continue;
    // Each task of a step would compute the whole batch.
    if (of_slurm && variables.has("SLURM_STEP_ID")) require(variables, engine.size, engine.rank);
    if (!variables.has(engine.size)) continue;
    return checked(variables.number(engine.rank), variables.number(engine.size),
                   std::string(engine.rank) + ", " + engine.size);
  }
  return std::nullopt;
}

std::optional<FoundShard> find_array_task(const Variables& variables) {
  if (variables.has("SLURM_ARRAY_TASK_ID")) {
    require(variables, "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_ID");
    const std::string source = "SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT";
    const std::size_t id = variables.number("SLURM_ARRAY_TASK_ID");
    const std::size_t count = variables.number("SLURM_ARRAY_TASK_COUNT");
    const auto or_else = [&](const char* name, std::size_t otherwise) {
      return variables.has(name) ? variables.number(name) : otherwise;
    };
    const std::size_t first = or_else("SLURM_ARRAY_TASK_MIN", 0);
    const std::size_t step = or_else("SLURM_ARRAY_TASK_STEP", 1);
    const std::size_t last = or_else("SLURM_ARRAY_TASK_MAX", first + (count - 1) * step);
    const bool regular = count > 0 && step > 0 && id >= first && (id - first) % step == 0 &&
                         last >= first && (last - first) / step + 1 == count;
    if (!regular) {
      throw Error(ErrorKind::usage,
                  translated("the tasks of the Slurm array are not evenly spaced, so their numbers "
                             "do not identify the parts"),
                  source, translated("say which part this is with BatchOptions::shard"));
    }
    return checked((id - first) / step, count, source);
  }
  if (variables.has("JOB_COMPLETION_INDEX")) {
    if (!variables.has("JOB_COMPLETIONS")) {
      throw Error(ErrorKind::usage,
                  translated("this is a pod of an indexed Kubernetes Job, which does not tell its "
                             "pods how many there are"),
                  "JOB_COMPLETION_INDEX",
                  translated("set the variable JOB_COMPLETIONS in the Job to what spec.completions "
                             "is, or say which part this is with BatchOptions::shard"));
    }
    return checked(variables.number("JOB_COMPLETION_INDEX"), variables.number("JOB_COMPLETIONS"),
                   "JOB_COMPLETION_INDEX, JOB_COMPLETIONS");
  }
  return std::nullopt;
}

}  // namespace

std::optional<FoundShard> find_shard(const std::function<const char*(const char*)>& variable) {
  const Variables variables(variable);
  const std::optional<FoundShard> rank = find_rank(variables), task = find_array_task(variables);
  FoundShard found;
  if (rank && task) {
    found.shard = {task->shard.index * rank->shard.count + rank->shard.index,
                   task->shard.count * rank->shard.count};
    found.source = task->source + ", " + rank->source;
  } else if (rank) {
    found = *rank;
  } else if (task) {
    found = *task;
  }
  if (found.shard.count == 1) return std::nullopt;
  return found;
}

}  // namespace attn
