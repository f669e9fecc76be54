/** English words that say nothing about a message's subject. Pure. */

// One string: a Set would have to be built at every start.
const STOP_WORDS =
  " a about am an and any are as at be because been before being but by can could did do does doing done for from get " +
  "got had has have he her hers him his how i if in into is it its just like me my no not of off on or our ours she " +
  "should so some such than that the their them then there these they this those to too us was we were what when " +
  "where which while who whom whose why will with would you your yours "

export const isStopWord = (word: string): boolean => STOP_WORDS.includes(` ${word} `)
