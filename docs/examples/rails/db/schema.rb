ActiveRecord::Schema.define(version: 1) do
  create_table "items", force: :cascade do |t|
    t.string "name", null: false
  end

  create_table "orders", force: :cascade do |t|
    t.bigint "item_id", null: false
  end
end
