export * from './handoff-settings.js'
export * from './provider-settings.js'
