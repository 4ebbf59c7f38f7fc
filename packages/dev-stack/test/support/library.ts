/** The launcher is plain JavaScript, because it runs before the build. So its modules are untyped. */
export const library = (name: string) => import(`../../lib/${name}.mjs`)
