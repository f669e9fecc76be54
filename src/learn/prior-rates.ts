/**
 * How often what restores show is usually needed within three turns, by kind and cell: 2,920 slots of restores at 27
 * compactions of 24 sessions of one project. A cell's share is drawn towards its kind's as if 20 more slots had had
 * that one. docs/measurements/restore.md says what it predicts. Pure.
 */
import type { SlotKind } from "../restore/slots.ts"

const BY_KIND: Readonly<Record<SlotKind, number>> = { path: 0.043, command: 0.124, name: 0.144 }

/** Where at least 20 slots were seen. */
const BY_CELL: Readonly<Record<SlotKind, Readonly<Record<string, number>>>> = {
  path: {
    "seen, once, new": 0.024,
    "seen, once, old": 0.033,
    "seen, some, new": 0.063,
    "used, once, new": 0.064,
    "used, once, old": 0.019,
    "used, some, new": 0.054,
    "used, some, old": 0.017,
  },
  command: {
    "common, once, old": 0.048,
    "run, once, new": 0.065,
    "run, once, old": 0.094,
    "run, some, new": 0.228,
  },
  name: {
    "seen, once, new": 0.087,
    "seen, some, new": 0.133,
    "used, often, new": 0.24,
    "used, often, old": 0.081,
    "used, once, new": 0.175,
    "used, once, old": 0.035,
    "used, some, new": 0.176,
    "used, some, old": 0.074,
  },
}

export const priorRate = (kind: SlotKind, cell: string): number => BY_CELL[kind][cell] ?? BY_KIND[kind]
