// Replaces services/authorization-server/dist/features.js.
export const FEATURES = []
