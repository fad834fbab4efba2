require "test_helper"

# Each test is rolled back by Rails.
class ItemTest < ActiveSupport::TestCase
  8.times do |n|
    test "adds an item, #{n}" do
      Item.create!(name: "cocoa")
      assert_equal %w[cocoa coffee tea], Item.order(:name).pluck(:name)
    end
  end
end
