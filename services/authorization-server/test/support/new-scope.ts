/** A scope of the default API, without its name and title. */
export const NEW_SCOPE = {
  description: '',
  translations: {},
  audience: undefined,
  isDefault: false,
  isDiscoverable: false,
  isSelfService: false,
  selects: false
} as const
