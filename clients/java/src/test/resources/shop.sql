CREATE TABLE item (
  id INT AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(40) NOT NULL UNIQUE,
  price INT NOT NULL
);
INSERT INTO item (name, price) VALUES ('pencil', 120), ('paper', 480), ('ink', 990);
