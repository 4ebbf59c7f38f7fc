// What arguments for Jest mean to npm test.

const NAMES = /^(-t|--testNamePattern)(=|$)/
const MANNER = /^(--json|--outputFile|--coverage|-i|--runInBand|-w|--maxWorkers)(=|$)/
/** These may have their value in the next argument. */
const WITH_VALUE = /^(-t|--testNamePattern|--outputFile|-w|--maxWorkers)$/

/** Whether the arguments select tests by name. Jest reports all others as skipped. @param {readonly string[]} args */
export const picksByName = (args) => args.some((arg) => NAMES.test(arg))

/**
 * The arguments that select files, without those that select tests by name or say how to run them.
 * @param {readonly string[]} args
 */
export const fileSelection = (args) =>
  args.filter((arg, index) => !(NAMES.test(arg) || MANNER.test(arg) || WITH_VALUE.test(args[index - 1] ?? '')))
