const { ramariaDatabase } = require('ramaria/jest')
const body = require('../body.cjs')

body.given(test, ramariaDatabase)
