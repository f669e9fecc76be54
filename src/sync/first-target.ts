/** Opens the first of several targets that answers. */
import type { Backend } from "../backends/backend.ts"
import type { Target } from "../backends/open-target.ts"
import { codeOf } from "../util/errors.ts"

/** Called for each target that does not answer, with the one that is tried next. */
export type OnPassed = (error: unknown, next: Target) => void

interface FirstTarget {
  readonly target: Target
  readonly backend: Backend
  readonly passed: readonly { readonly target: string; readonly code: string }[]
}

/**
 * @param targets at least one
 * @param open of a target
 * @throws CtxError that of the last one, if none answers
 */
export async function openFirst(
  targets: readonly Target[],
  open: (target: Target) => Promise<Backend>,
  onPassed?: OnPassed,
): Promise<FirstTarget> {
  const passed: { target: string; code: string }[] = []
  for (const [n, target] of targets.entries()) {
    try {
      return { target, backend: await open(target), passed }
    } catch (error) {
      const next = targets[n + 1]
      if (next === undefined) throw error
      passed.push({ target: target.shown, code: codeOf(error) })
      onPassed?.(error, next)
    }
  }
  throw new Error("no target")
}
