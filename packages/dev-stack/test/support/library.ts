/** The launcher is plain JavaScript, for it runs before anything is compiled; its modules come in untyped. */
export const library = (name: string) => import(`../../lib/${name}.mjs`)
