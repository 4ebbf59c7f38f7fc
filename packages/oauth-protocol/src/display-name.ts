/** Some letters and one sign are as empty as a space: fillers of Hangul, Braille without dots. */
const VISIBLE = /[^\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u

/** More than four marks on one letter would cover the text around it (UTS #39 §5.4). */
const MARKS = /[\p{Mn}\p{Me}]{5}/u

/** Why a name cannot be shown to users as a name of its own; undefined if it can. */
export function nameProblem(name: string): 'invisible' | 'too_many_marks' | undefined {
  if (!VISIBLE.test(name)) return 'invisible'
  return MARKS.test(name.replace(/\p{Cf}/gu, '')) ? 'too_many_marks' : undefined
}
