/**
 * Whether a script runs a command, or only has its words in it: in a path, in what it prints, looks for or writes. Pure.
 */
import { programOf } from "./runners.ts"
import { pipelinesIn, shellWords } from "./shell-script.ts"

/** They run what their arguments say, in a shell or elsewhere. */
const ELSEWHERE =
  /^(?:(?:ba|z|da|k|fi)?sh|eval|ssh|su|watch|xargs|find|parallel|entr|watchexec|hyperfine|docker|docker-compose|podman|kubectl|nerdctl|vagrant|flyctl|heroku|script|screen|tmux|strace|perf|time|make|just)$/
/** A script in a script in a script is enough. */
const DEEPEST = 3

/**
 * @param words of the command, the program first, in lower case
 * @returns 2: runs it as it stands here; 1: with something between its words, or through another program; 0: no
 */
export function runsCommand(script: string, words: readonly string[], depth = 0): 0 | 1 | 2 {
  let best: 0 | 1 = 0
  for (const { command, filters } of pipelinesIn(script) ?? []) {
    for (const one of [command, ...filters]) {
      const found = runsIt(one, words, depth)
      if (found === 2) return 2
      if (found === 1) best = 1
    }
  }
  return best
}

function runsIt(command: string, wanted: readonly string[], depth: number): 0 | 1 | 2 {
  const all = shellWords(programOf(command))
  const words = all.map(({ word, quoted }) => (quoted ? "" : word.toLowerCase()))
  const [program = "", ...others] = words
  if (program === wanted[0]) {
    if (begins(words, wanted)) return 2
    if (holdsInOrder(others, wanted.slice(1))) return 1
  }
  if (!ELSEWHERE.test(program)) return 0
  if (others.some((_, n) => begins(others.slice(n), wanted))) return 1
  if (depth >= DEEPEST) return 0
  return all.some(({ word, quoted }) => quoted && runsCommand(word, wanted, depth + 1) > 0) ? 1 : 0
}

const begins = (words: readonly string[], wanted: readonly string[]): boolean =>
  wanted.every((word, n) => words[n] === word)

function holdsInOrder(words: readonly string[], wanted: readonly string[]): boolean {
  let met = 0
  for (const word of words) if (word === wanted[met]) met++
  return met === wanted.length
}
