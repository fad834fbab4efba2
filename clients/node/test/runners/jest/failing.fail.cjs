const { ramariaDatabase } = require('ramaria/jest')
const body = require('../body.cjs')

body.failing(test, ramariaDatabase)
