require "rails"
require "active_record/railtie"
require "rails/test_unit/railtie"

module Shop
  class Application < Rails::Application
    config.root = File.expand_path("..", __dir__)
    config.load_defaults 6.1
    config.eager_load = false
    config.log_level = :warn
  end
end
