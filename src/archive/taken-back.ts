/** How it is told that the user took a turn back (take-back.ts). Pure. */

/** Told only of turns that were. */
export interface TakenBack {
  readonly takenBack?: true
}

/** @param turn a row with the flag as it stands in the views */
export const takenBackOf = (turn: { readonly takenBack: number }): TakenBack =>
  turn.takenBack === 1 ? { takenBack: true } : {}
