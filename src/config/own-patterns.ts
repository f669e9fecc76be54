/**
 * Makes the user's own patterns ready for the filter. Those that cannot be used are named; the others stay in force.
 * Loaded only if there are any.
 */

import { cut } from "../base/text.ts"
import { finderOf, problemOf } from "../secrets/patterns.ts"
import type { Settings } from "./load.ts"
import type { Problem } from "./options.ts"

const SHOWN = 80

export function withOwnPatterns(settings: Settings): Settings {
  const { paths, resolved } = settings
  const given = paths.secrets.patterns
  if (given.length === 0) return settings
  const problems: Problem[] = []
  const patterns = given.filter((pattern) => {
    const problem = problemOf(pattern)
    if (problem !== undefined) {
      const message = `${cut(JSON.stringify(pattern), SHOWN)} is not used: ${problem}`
      problems.push({ key: "secrets.patterns", origin: "user", isValue: true, message })
    }
    return problem === undefined
  })
  return {
    ...settings,
    paths: { ...paths, secrets: { ...paths.secrets, patterns, findOwn: finderOf(patterns) } },
    resolved: {
      ...resolved,
      config: { ...resolved.config, "secrets.patterns": patterns },
      problems: [...resolved.problems, ...problems],
    },
  }
}
