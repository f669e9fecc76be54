/**
 * How agents other than Claude Code call hooks, and are answered: one row each. Loaded only where such an agent calls, as
 * one module (build/bundles.ts).
 */
import { CODEX_HOOKS } from "../agents/codex/codex-hooks.ts"
import type { HookForm } from "../record/hook-event.ts"

/** By the names that hook commands and options have for them. */
const FORMS: Readonly<Record<string, HookForm>> = { codex: CODEX_HOOKS }

/** @throws if nobody is called that */
export function hookFormOf(agent: string): HookForm {
  const form = Object.hasOwn(FORMS, agent) ? FORMS[agent] : undefined
  if (form === undefined) throw new Error("unknown agent")
  return form
}
