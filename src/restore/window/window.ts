/**
 * How large the window is, and at which point Claude Code compacts. Measured on three versions
 * (docs/architecture/autopilot.md). Pure.
 */
import { atLeast, HEEDS_SETTING } from "../../claude/versions.ts"
import type { ClaudeLimits } from "../../config/load.ts"
import type { Config } from "../../config/options.ts"
import type { Thresholds } from "./zone.ts"

const SMALL = 200_000
const LARGE = 1_000_000
/** Tokens that Claude Code keeps free above its threshold, for every model. */
const MARGIN = 13_000
/** Tokens that Claude Code reserves for the answer or summary: at most this many, more in versions up to 2.0. */
const RESERVE = 20_000
const RESERVE_TO_2_0 = 32_000
/**
 * Tokens before its reserve at which a Claude Code that may not compact refuses to go on; up to 2.0, at the reserve.
 */
const REFUSAL = 3000
/** From this generation on, all models have the large window. */
const LARGE_SINCE = 5
/**
 * An observed compaction at most this share of the window above the formula confirms the formula: compactions come one
 * answer late.
 */
const LATE = 0.03
/** How far a reading may exceed a window size or a learnt point before we assume a different one. */
const EXCESS = 1.02
/** Only this many recent compactions count, since a user may change the window. */
export const POINTS_KEPT = 3

interface Wishes {
  /** The user's option for the window; 0: unset. */
  readonly option: number
  readonly thresholds: Thresholds
}

export interface Circumstances extends Wishes {
  /** What Claude Code told the status line. */
  readonly told?: number | undefined
  readonly limits: ClaudeLimits
}

/** What the user's options say of the window. */
export const wishesIn = (config: Config): Wishes => ({
  option: config["autopilot.window"],
  thresholds: { warn: config["autopilot.warn"], critical: config["autopilot.critical"] },
})

export interface Reading {
  readonly tokens?: number | undefined
  readonly model?: string | undefined
  /** Claude Code's version. */
  readonly version?: string | undefined
  /** Most tokens that the model held before. */
  readonly most?: number | undefined
  readonly points?: readonly number[] | undefined
}

type WindowClues = Pick<Reading, "model"> &
  Pick<Circumstances, "option" | "told" | "limits"> & {
    /** Most tokens seen in this window so far. */
    readonly seen: number
  }

/** @returns tokens */
export function windowOf({ model, option, told, seen, limits }: WindowClues): number {
  // Whoever copies the design documents' 200,000 may have a larger window.
  if (option > 0 && seen <= option * EXCESS) return option
  if (told !== undefined) return told
  const { most } = limits
  if (most !== undefined && seen <= most * EXCESS && (limits.off === "all" || isStrange(model))) return most
  const small = limits.no1M === true || !isLarge(model ?? "")
  // If it has held more, it is larger.
  return small && seen <= SMALL * EXCESS ? SMALL : LARGE
}

/** A model behind a gateway, by a name that is none of the maker's. */
const isStrange = (model = "claude"): boolean => !/claude/i.test(model)

/** `claude-opus-5-5`, `claude-sonnet-4-6[1m]`, `claude-3-5-haiku-20241022` */
function isLarge(model: string): boolean {
  const generation = /claude-(?:[a-z]+-)*(\d{1,2})(?!\d)/i.exec(model)?.[1]
  return /\[1m\]/i.test(model) || (generation !== undefined && Number(generation) >= LARGE_SINCE)
}

type PointClues = Pick<Reading, "version"> &
  Pick<Circumstances, "limits"> & {
    readonly window: number
    readonly points: readonly number[]
    /** Tokens in the context now. */
    readonly tokens: number
  }

interface CompactionPoint {
  /** From this many tokens on, Claude Code compacts by itself, or goes no further if it may not. */
  readonly at: number
  /** Whether it was observed; otherwise it comes from Claude Code's formula. */
  readonly learnt: boolean
}

/**
 * Claude Code compacts at the first request above its threshold. So every observed compaction was above it, and the
 * lowest is the closest. If the formula gives a value just below that, the formula is right.
 */
export function compactionPoint(clues: PointClues): CompactionPoint {
  const { window, points, tokens } = clues
  const formula = pointByFormula(clues)
  const recent = points.slice(-POINTS_KEPT)
  if (recent.length === 0 || compactsHow(clues) !== "automatic") return { at: formula, learnt: false }
  const lowest = Math.min(window, ...recent)
  // A context that has grown past it without being compacted has a different threshold.
  if (tokens > lowest * EXCESS && tokens > Math.max(...recent))
    return { at: Math.max(formula, tokens), learnt: false }
  const confirmed = formula <= lowest && lowest - formula <= window * LATE
  return { at: confirmed ? formula : lowest, learnt: true }
}

/** How Claude Code compacts: by itself, only when the user asks for it, or not at all. */
export type Compacts = "automatic" | "manual" | "never"

/** Versions of Claude Code up to 2.0 do not know `DISABLE_AUTO_COMPACT`, versions up to 2.1.112 not the setting. */
export function compactsHow({ limits, version }: Pick<PointClues, "limits" | "version">): Compacts {
  const { off, autoCompact: { state, settings } = {} } = limits
  if (off === "all") return "never"
  if (off === "automatic" && !isOld(version)) return "manual"
  const said = atLeast(version, HEEDS_SETTING) ? (settings ?? state) : state
  return said === false ? "manual" : "automatic"
}

const isOld = (version = ""): boolean => /^(?:[01]|2\.0)\./.test(version)

function pointByFormula(clues: PointClues): number {
  const { window, version, limits } = clues
  const old = isOld(version)
  const usable = Math.min(window, limits.window ?? window) - (old ? RESERVE_TO_2_0 : RESERVE)
  if (compactsHow(clues) !== "automatic") return Math.max(1, old ? usable : usable - REFUSAL)
  const percent = Math.floor(usable * ((limits.percent ?? 100) / 100))
  // A window chosen by the user may be smaller than the reserve.
  return Math.max(1, Math.min(usable - MARGIN, percent))
}
